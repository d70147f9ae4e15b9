"""Profile the compile of a program: seconds by stage, kernel and source line."""
