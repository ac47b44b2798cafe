"""Kubernetes Events, with a budget."""
