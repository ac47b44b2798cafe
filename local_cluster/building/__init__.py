"""Builds programs from committed go.mod files into the per-user cache.

A build is keyed by the content of what goes into it, so a second `up` builds nothing and a
changed pin builds only what it affects. Go compiles with its own cache. This package finds a
toolchain, shows progress and installs the finished programs.
"""
