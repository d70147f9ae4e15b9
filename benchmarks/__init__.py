"""asv benchmark suites: classes that are derived from the base class in `common`.

``measuring`` plans, runs and stores measurements. ``cases`` has the functions with which
worker processes make the cases of the suites. ``workloads`` has problems and programs for these
cases; its modules do not import jaxmeter. ``operations`` defines and measures vcjax's public
operations.
"""
