"""One document for every page: sections, tables and figures, written as HTML and Markdown."""
