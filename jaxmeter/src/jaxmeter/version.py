"""The version of jaxmeter, which is part of the environment in a record."""

VERSION = "0.1.0"
