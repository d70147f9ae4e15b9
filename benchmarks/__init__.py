"""asv benchmark suites: classes that are derived from the base class in `common`.

``measuring`` plans, runs and stores measurements. ``cases`` has the functions that run in worker
processes. ``operations`` defines and measures vcjax's public operations. ``workloads`` has the
programs that are measured; they do not import jaxmeter.
"""
