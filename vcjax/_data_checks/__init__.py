"""Check that a surface and a field are resolved and belong together, on the host with NumPy."""
