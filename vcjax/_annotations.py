"""Define the array types that annotations use: types of jaxtyping, or stand-ins.

Importing jaxtyping takes as long as importing all modules of vcjax. Type checkers see the types of
jaxtyping. At run time, annotations have these types if jaxtyping was imported before vcjax, as the
import hook of jaxtyping requires. Otherwise, annotations with shapes are `Any`.
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
        """Stand-in for the types of jaxtyping; it ignores shapes."""

        def __class_getitem__(cls, _) -> Any:
            return Any

    Bool = Complex = Int = Float
