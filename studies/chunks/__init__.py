"""The tile sizes that are best on a machine, and how far "auto" is from them: docs/chunks.md."""
