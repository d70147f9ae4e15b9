"""Define the subcommands of ``jaxmeter`` in one file each, and read their arguments."""
