"""vcjax under the names and conventions of other packages.

- `VirtualCasing`: the C++ package ``virtual_casing``, flat arrays;
- `VirtualCasingJAX`, `build_offsurface_levels`: the package ``virtual_casing_jax``;
- `vcjax.interfaces.simsopt.VirtualCasing`: ``simsopt.mhd.VirtualCasing``, from a VMEC equilibrium.
"""

from vcjax.interfaces._flat import VirtualCasing
from vcjax.interfaces._jax_names import VirtualCasingJAX
from vcjax.interfaces._knobs import build_offsurface_levels

__all__ = ["VirtualCasing", "VirtualCasingJAX", "build_offsurface_levels"]
