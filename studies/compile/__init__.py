"""Profile compiles: functions with a known slow line, and the programs of vcjax."""
