"""A retrace in every call: reading the rule of a casing makes a new rule.

JAX looks up a program by the static parts of its arguments, such as the rule. Each new rule is
equal only to itself, so JAX finds no earlier program.
"""

import dataclasses


def inject(vcjax):
    """Make `Casing.rule` a property that returns a new rule, which is equal only to itself."""
    known = vcjax.Casing

    class Rule(vcjax.Rule):
        __eq__ = object.__eq__
        __hash__ = object.__hash__

    def made_again(casing):
        return Rule(**{f.name: getattr(kept(casing), f.name) for f in dataclasses.fields(Rule)})

    def kept(casing):
        return casing.__dict__["rule"]

    def keep(casing, rule):
        plain = {f.name: getattr(rule, f.name) for f in dataclasses.fields(rule)}
        casing.__dict__["rule"] = vcjax.Rule(**plain)  # plain, because casings are pickled

    known.rule = property(made_again, keep)
