"""What runs on a host without a container engine. It is sent there as one program, which `program` joins.

Its modules import Python's standard library (3.9 or later) and each other, and nothing of this product:
the host has none of it. It needs root's rights, and util-linux.
"""
