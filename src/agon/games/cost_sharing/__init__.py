"""MAgIC's cost sharing among airlines."""
