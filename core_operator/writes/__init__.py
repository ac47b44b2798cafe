"""Children of several kinds, created, changed and deleted for their owner."""
