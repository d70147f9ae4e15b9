"""Start, supervise and end the fresh processes that measure."""
