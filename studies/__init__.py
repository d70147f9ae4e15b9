"""Evidence: each claim of docs/ with the script that measures it and the rows it measured."""
