"""Surfaces and fields on toroidal grids: resampling, quadrature nodes, patches, nearest points."""
