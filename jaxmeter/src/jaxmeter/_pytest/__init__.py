"""Support the pytest plugin: measure quantities, and read their budgets."""
