"""The evidence for each claim in docs/: a script that measures the claim, and the measured rows."""
