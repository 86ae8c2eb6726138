"""Pages for readers: what agreed, where to look for oneself, and what is to be known of data before it is believed."""
