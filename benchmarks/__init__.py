"""asv benchmark suites: classes that are derived from the base class in `common`.

``measuring`` plans, runs and stores measurements. ``cases`` holds the functions that run in worker
processes. ``operations`` is the table of vcjax's public operations. ``workloads`` holds the
programs that are measured; they do not import jaxmeter.
"""
