"""The checks of the exercises, one module for each lesson. No check measures times."""
