"""One table of vcjax's public operations, for reviews, bisections and ``jaxmeter lock``.

`programs`, `derivatives` and `calls` hold the operations at small sizes. `worker` measures many of
them in one process, and `measure` starts the workers. Round 0 of an operation has exact quantities
only. Later rounds have steady-state times only.
"""
