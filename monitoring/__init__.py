"""What is watched about the product: alerts, recording rules and dashboards, as data.

`rules`, `dashboards` and `objects` describe them in a few lines each; `python -m monitoring`
writes the files of deploy/monitoring from that. Nothing here runs in a cluster, and no part of
the product imports it.
"""
