"""Describe the compiles of a whole program, as text and as one page of HTML."""
