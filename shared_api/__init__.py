"""What both phases stand on: the contract (models, names) and the controller runtime.

It knows neither the core operator nor any scheduler. Its layers, lowest first: names,
models, kube (a thin API client), runtime (watch, cache, queue, reconcile, apply).
"""
