"""The version of jaxmeter, written into every record."""

VERSION = "0.1.0"
