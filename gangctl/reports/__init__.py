"""Pure functions: from a `Snapshot` to the report of one verb, and from a report to its view."""
