"""Which pods fit where: nodes, what pods request, and how many of them fit. Pure values."""
