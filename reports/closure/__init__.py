"""Make the report on the cost of closing over arrays, and on its causes."""
