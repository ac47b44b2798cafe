"""Workloads that end: which attempt pods belong to, and when cliques, groups and sets are done."""
