"""Whether a surface and a field on it can be what they are said to be (host, NumPy)."""
