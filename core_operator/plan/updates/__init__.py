"""Rolling updates: which replica is next, what of it is replaced, and the record of it."""
