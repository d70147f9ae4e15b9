"""Read NetCDF-3 files, and check the output files of VMEC."""
