"""The manifests of the objects that core writes, one module per kind."""
