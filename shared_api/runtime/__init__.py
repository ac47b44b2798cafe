"""The machinery of a controller, in the order in which data flows through it.

`watching` follows the API server and caches objects, `queueing` orders the keys that need a
reconcile, `reconciling` processes them, `applying` sends the desired state. `leading`, `recording`,
`serving`, `telemetry` and `manager` are the process around that.
"""
