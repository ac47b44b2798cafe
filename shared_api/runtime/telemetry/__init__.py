"""The metrics of the runtime."""
