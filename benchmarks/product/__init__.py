"""What the product costs at Grove's scale shape, beside a client that only writes.

`scenario` runs the `parts` in order on two clusters: on the first core and a backend work as
processes of their own, and what they write is recorded; on the second a `bare` client sends
what both had sent. `recorder` and `backend`
(the stand-in) are processes of the first, `replayer` of the second; `replay`, `measures` and
`sightings` are pure.
"""
