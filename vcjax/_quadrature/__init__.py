"""Choice of the quadrature for a surface, and its tables, before any field is evaluated."""
