"""Alerts, recording rules and dashboards of the product, as data.

`python -m monitoring` writes the files in deploy/monitoring from them. Nothing here runs in a
cluster, and the product must not import it.
"""
