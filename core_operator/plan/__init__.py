"""What should exist, and what should be done next: pure functions over values.

A plan takes objects as the caches show them and returns manifests or decisions. There is no
await, no clock, no client and no randomness here; inputs are never changed, and equal inputs
give equal bytes. A manifest may share parts with the object that it was made from (a pod
spec is large and there may be thousands of them), so manifests are read, never edited.
"""
