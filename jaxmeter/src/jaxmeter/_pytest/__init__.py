"""Support the pytest plugin: quantities, their budgets and their lock file."""
