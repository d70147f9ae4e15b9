"""Find the best tile sizes on a machine, and compare "auto" with them: docs/chunks.md."""
