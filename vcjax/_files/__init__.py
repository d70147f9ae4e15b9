"""Read the files of other codes."""
