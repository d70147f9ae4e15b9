"""Use vcjax under the names and array conventions of other packages.

- `VirtualCasing` replaces the class of the C++ package ``virtual_casing``. Its arrays are flat.
- `VirtualCasingJAX` and `build_offsurface_levels` replace the class and the function with these
  names in the package ``virtual_casing_jax``.
- `vcjax.interfaces.simsopt.VirtualCasing` replaces ``simsopt.mhd.VirtualCasing``, which separates
  the field of a VMEC equilibrium.
"""

from vcjax.interfaces._flat import VirtualCasing
from vcjax.interfaces._jax_names import VirtualCasingJAX
from vcjax.interfaces._knobs import build_offsurface_levels

__all__ = ["VirtualCasing", "VirtualCasingJAX", "build_offsurface_levels"]
