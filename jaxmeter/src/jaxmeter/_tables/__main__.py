"""``python -m jaxmeter._tables > docs/tables.md``: what every table holds."""

import jaxmeter.tables  # noqa: F401
from jaxmeter._tables.schemas import documentation

if __name__ == "__main__":
    print(documentation(), end="")
