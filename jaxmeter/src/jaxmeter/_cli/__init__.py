"""The subcommands of ``jaxmeter``, one file each."""
