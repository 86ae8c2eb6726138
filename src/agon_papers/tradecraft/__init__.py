"""TradeCraft (anonymous authors): its 90 recorded games, its printed numbers, and its statements."""
