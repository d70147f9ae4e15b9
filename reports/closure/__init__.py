"""Make the report on closing over arrays: the cost and the causes of this cost."""
