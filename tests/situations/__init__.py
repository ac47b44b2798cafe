"""Failures that users meet, acted out on a real cluster, and what kubectl shows about each."""
