"""The version of jaxmeter, a part of the environment in a record."""

VERSION = "0.1.0"
