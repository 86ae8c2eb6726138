"""People at the table: pages on which games are played, watched and annotated, in a browser and in a notebook."""
