"""Handle the lock file: exact quantities of functions and tests, kept in the repository."""
