"""Define the subcommands of ``jaxmeter``, one file each."""
