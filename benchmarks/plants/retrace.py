"""Rules that equal no other, not even themselves: every call with a casing is traced again."""


def plant(vcjax):
    """Break the comparison that JAX makes between the arguments of two calls."""
    vcjax.Rule.__eq__ = lambda self, other: False
