from dataclasses import dataclass

import jax


@jax.tree_util.register_dataclass
@dataclass
class Telescope:
    modes: jax.Array
    mask: jax.Array

    @jax.jit
    def image(self, field):
        return self.mask * (self.modes @ field)


def observe(telescope, field):
    return telescope.image(field)
