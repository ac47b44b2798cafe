"""Keys that wait for a worker: priority, back-off and rate limits."""
