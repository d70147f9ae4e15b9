"""Evidence for claims in docs/: scripts that measure the claims, and the measured rows."""
