"""Plan, run, pair and store measurements."""
