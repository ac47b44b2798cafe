"""Workers that take keys from a queue, and what the end of a reconcile means."""
