"""The table of operations, for reviews, bisections and ``jaxmeter lock``.

An operation is a program, or a sequence of calls, that uses public functions of vcjax. The modules
`programs`, `derivatives` and `calls` define operations with small inputs. The module `worker`
measures many operations in one process, and `measure` starts such workers. Round 0 of an operation
measures errors, and exact quantities such as bytes and counts. Later rounds measure only
steady-state times.
"""
