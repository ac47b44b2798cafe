"""What the product costs at Grove's scale shape, beside a client that only writes.

`scenario` runs the parts in order on two clusters: on the first the operator works, and one
part of that is recorded; on the second a bare client sends what was recorded, and the
garbage collector clears it up alone. `recorder` and `backend` are the processes of the
first, `replayer` of the second; `replay` and `measures` are pure.
"""
