"""asv suites: what is measured, how often, and where the records go.

``plan`` says what a case is, ``runner`` measures a plan into the ``store``, ``common`` lets an asv
class read the outcome; ``casing``, ``chunks``, ``closure`` and ``reference`` are among
the suites; ``cases`` and its likes hold the functions that run in worker processes, ``quantities``
what they compute; ``run`` is the command behind ``make report``, ``studies.closure`` the one behind
``make closure``. ``workloads`` are the problems and know no meter.
"""
