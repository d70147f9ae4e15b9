"""Describe pages as sections, tables and figures, and write them as HTML and Markdown."""
