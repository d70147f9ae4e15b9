"""Check on the host, with NumPy, that a surface and a field are resolved and belong together."""
