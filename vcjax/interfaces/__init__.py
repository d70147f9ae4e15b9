"""vcjax under the names and conventions of other packages: thin, and the core knows nothing of it.

- `VirtualCasing`: the C++ package ``virtual_casing``, flat arrays;
- `vcjax.interfaces.simsopt.VirtualCasing`: ``simsopt.mhd.VirtualCasing``, from a VMEC equilibrium.
"""

from vcjax.interfaces._flat import VirtualCasing

__all__ = ["VirtualCasing"]
