"""Surfaces and fields on toroidal grids: resampling, nodes, patches, nearest points."""
