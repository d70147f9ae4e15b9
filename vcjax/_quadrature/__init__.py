"""Choose a quadrature and compute the tables of its constants, before any field is evaluated."""
