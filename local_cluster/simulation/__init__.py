"""The workload nodes and their pods, played by kwok: no container runs, the API objects are real."""
