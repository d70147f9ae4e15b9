"""Support for the pytest plugin: quantities and their budgets."""
