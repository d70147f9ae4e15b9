"""Plan, run and store measurements: of one commit, of two interleaved commits, or of a range."""
