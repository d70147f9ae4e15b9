"""Count traces and explain retraces."""
