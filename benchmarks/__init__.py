"""asv suites: a module for each, on the base in `common`.

``measuring`` plans, runs and stores measurements, ``cases`` holds the functions that run in worker
processes, ``workloads`` the problems, which import no meter.
"""
