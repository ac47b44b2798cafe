"""Measurements: each figure beside what it is to be compared with, in the same run."""
