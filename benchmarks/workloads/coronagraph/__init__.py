"""A coronagraph image simulator: star, planets, disk and zodiacal light on a photon counter.

``scene``, ``optics`` and ``detector`` define the parts of a system as equinox modules. All arrays
of these modules are pytree leaves. The modules use ``resampling``, ``splines``, ``kepler``,
``off_axis`` and ``folding``. ``model`` computes rate maps and frames. ``propagation`` computes
images by Fourier optics, and ``example`` makes a whole system.

Every function computes in the dtype of its arrays; `example.system` makes float32 arrays.
"""

from .example import observation as observation
from .example import structure as structure
from .example import system as system
from .model import Frame as Frame
from .model import RateMaps as RateMaps
from .model import System as System
from .model import frame as frame
from .model import rate_maps as rate_maps
from .scene import Observation as Observation
