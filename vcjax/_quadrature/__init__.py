"""Choose the quadrature for a surface, and compute its tables, before any field is evaluated."""
