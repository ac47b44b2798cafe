"""The machinery of a controller, in the order in which data flows through it.

`watch` follows the API server, `cache` holds what it says, `queue` orders the keys that
need attention, `reconcile` works on them, `apply` sends what should be. `leader`, `events`,
`server` and `manager` are the process around that. No module calls one that is upstream.
"""
