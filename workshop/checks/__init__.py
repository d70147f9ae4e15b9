"""The checks of the exercises, one module for each lesson. Checks count; they never use times."""
