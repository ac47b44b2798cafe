"""The HTTP pages of a process: probes, and metrics for authorized callers."""
