"""The checks of the exercises: one module for each lesson. They count, and never measure a time."""
