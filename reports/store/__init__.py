"""Read, merge and compact stores of records, and name the machines that made them."""
