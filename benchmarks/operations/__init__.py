"""One table of vcjax's public operations, for reviews, bisections and ``jaxmeter lock``.

`programs`, `derivatives` and `calls` hold the operations at small sizes; `worker` measures many of
them in one process, `measure` starts the workers. Only exact quantities are taken, no times.
"""
