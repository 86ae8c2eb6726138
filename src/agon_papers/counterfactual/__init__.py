"""The counterfactual paper: its printed tables and its statements, against the matches that its authors recorded."""
