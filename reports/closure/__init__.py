"""Make the report on the cost of closing over arrays and the reasons for it."""
