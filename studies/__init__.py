"""The evidence for docs/: for each claim, the script that measures it and the measured rows."""
