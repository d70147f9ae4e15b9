"""Resample surfaces and fields on toroidal grids; compute nodes, patches and nearest points."""
