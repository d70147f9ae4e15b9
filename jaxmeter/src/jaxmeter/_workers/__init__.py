"""Start, supervise and end the worker processes in which functions are measured."""
