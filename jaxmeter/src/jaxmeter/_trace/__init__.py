"""Make and read traces of JAX's profiler, without pandas."""
