"""Where the time of compiling goes: planted slow lines, and the programs of vcjax."""
