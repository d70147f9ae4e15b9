"""Find a machine's best tile sizes, and compare the sizes of "auto" with them: docs/chunks.md."""
