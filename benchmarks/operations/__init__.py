"""One table of vcjax's public operations, for reviews, bisections and ``jaxmeter lock``.

`programs`, `derivatives` and `calls` hold the operations at small sizes. `worker` measures many of
them in one process, and `measure` starts the workers. Round 0 has exact quantities only; rounds
from 1 on have only steady-state times.
"""
