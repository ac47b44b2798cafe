"""The pages of a process: probes, and metrics for those who may read them."""
