"""A supervisor that runs core and backends in one pod, for a laptop or a small cluster.

Each program is a process of its own and communicates only through the API server. The supervisor
starts the programs, watches them and exits with them. It must not import core or a backend.
"""
