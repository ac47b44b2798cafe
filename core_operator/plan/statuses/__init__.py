"""What objects say about themselves: counts, conditions and the one reason that matters.

Each function returns the status that core applies to its subresource, with the conditions
that core owns and no others. `now` dates a condition whose status changed; one that did not
keeps its date, so the same state always gives the same bytes and nothing is written twice.
"""
