"""Conditions compared, players rated, designs planned, hypotheses registered, and asking that stops once a question is decided."""
