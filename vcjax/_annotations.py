"""Define the array types of annotations; take them from jaxtyping if it is already imported.

Importing jaxtyping takes as long as importing all other modules of vcjax. Type checkers see
jaxtyping's types. At run time, annotations have these types if jaxtyping was imported before vcjax,
as its import hook requires, and are `Any` otherwise.
"""

import sys
from typing import TYPE_CHECKING, Any

from jax import Array as Array

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool as Bool
    from jaxtyping import Complex as Complex
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
else:

    class Float:
        """Stand-in for the types of jaxtyping."""

        def __class_getitem__(cls, _) -> Any:
            return Any

    Bool = Complex = Int = Float
