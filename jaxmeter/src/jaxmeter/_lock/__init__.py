"""Handle the lock file, which keeps exact quantities of functions and tests in the repository."""
