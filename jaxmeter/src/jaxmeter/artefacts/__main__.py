"""``python -m jaxmeter.artefacts > docs/tables.md``: what every table holds."""

import jaxmeter.artefacts  # noqa: F401
from jaxmeter.artefacts.schemas import documentation

if __name__ == "__main__":
    print(documentation(), end="")
