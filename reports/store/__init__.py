"""Read, merge and compact stores of records, and name the machines of the records."""
