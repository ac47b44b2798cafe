"""The workload nodes and their pods, simulated by kwok: API objects without containers."""
