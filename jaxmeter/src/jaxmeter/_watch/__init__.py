"""Record all compiles of a whole program, and read the recorded events."""
