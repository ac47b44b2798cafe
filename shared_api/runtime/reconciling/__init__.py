"""Controllers: the table of watches, the workers, and what the end of a reconcile means."""
