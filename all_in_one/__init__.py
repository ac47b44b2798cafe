"""Core and chosen backends in one pod, for a laptop or a small cluster.

The programs are the same as elsewhere, each a process of its own, and still meet in the API
server alone. What is here starts them, watches them and ends with them; it imports neither
core nor any backend.
"""
