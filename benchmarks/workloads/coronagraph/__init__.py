"""A simulator of coronagraph images: star, planets, disk and zodiacal light on a photon counter.

The modules ``scene`` and ``optics`` define the parts of a system as classes derived from
``equinox.Module``. All arrays in these classes are pytree leaves. The classes use the modules
``interpolation``, ``kepler`` and ``point_images``. The module ``model`` computes rate maps and
frames, ``propagation`` computes images by Fourier optics, and ``example`` makes a whole system.

Rate maps are computed in the dtype of the system's arrays; `example.system` makes float32 arrays.
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
