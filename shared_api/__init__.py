"""What core and the backends share: the API (models, names) and the controller runtime.

It must not import core or a backend. Its layers, lowest first: names, models, kube (a thin API
client), runtime (watch, cache, queue, reconcile, apply).
"""
