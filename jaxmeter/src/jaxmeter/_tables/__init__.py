"""Turn traces, XLA dumps and nsys captures into pandas tables."""
