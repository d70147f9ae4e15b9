"""Turn traces, XLA dumps, nsys captures, compile profiles and memory use into pandas tables."""
