"""Rules about the source that no linter has, proven by reading it."""
