"""Describe compiled programs: sizes, instructions, buffers, memory."""
