"""Evidence for claims in docs/: scripts that make the measurements, and the measured rows."""
