"""What matches tell of conditions and players: metrics by name, comparisons, power, preregistration, and when to stop."""
