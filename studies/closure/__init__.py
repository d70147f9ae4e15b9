"""What it costs to close over a coronagraph's arrays instead of passing them: docs/closure.md."""
