"""Turn traces, XLA dumps, nsys captures and memory measurements into pandas tables."""
