"""What should exist and what to do next: pure functions over values.

A plan takes objects from the caches and returns manifests or decisions. It has no await, no clock,
no client and no randomness. Inputs are never changed, and equal inputs give equal bytes. A manifest
may share parts with its source object (thousands of pods share one pod spec), so manifests must
never be edited.
"""
