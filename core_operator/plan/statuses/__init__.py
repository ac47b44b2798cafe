"""The status of each kind: counts, conditions and the most important reason.

Each function returns the status that core applies, with core's conditions and no others. `now` is
the transition time of a condition whose status changed. Unchanged conditions keep theirs, so equal
states give equal bytes and nothing is written twice.
"""
