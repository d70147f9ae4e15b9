"""The page of the closure study: what it costs to close over arrays, and why.

``published`` holds the table that the study repeats, ``summaries`` the study's own numbers,
``figures``, ``sentences`` and ``sections`` what is shown of them, ``page`` the whole. Records,
tables, drawing and writing are those of the package above.
"""
