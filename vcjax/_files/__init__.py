"""Read VMEC output, which are NetCDF-3 files."""
