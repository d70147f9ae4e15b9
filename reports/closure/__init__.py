"""The report on closing over arrays: its cost, and the reasons."""
