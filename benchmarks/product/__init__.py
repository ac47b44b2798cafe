"""Benchmark of the product with Grove's scale test, compared with a client that only writes.

`scenario` runs the `parts` on two clusters. On the first, core and a backend run as processes and
their writes are recorded. On the second, a `bare` client sends the same writes. `recorder` and
`backend` (the stand-in) are processes of the first cluster, `replayer` of the second. `replay`,
`measures` and `sightings` are pure.
"""
