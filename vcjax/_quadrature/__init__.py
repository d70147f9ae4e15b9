"""Choice of a quadrature for a surface and its tables, made before any field is evaluated."""
