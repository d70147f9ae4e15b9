"""Record the compiles of a whole program, from its first line on, and read the record."""
