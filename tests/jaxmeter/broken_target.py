"""A module whose import fails."""

import no_such_module_anywhere  # noqa: F401  # pyright: ignore
