"""The program that runs in users' pods: an init container that waits for the start-up order.

It imports nothing of the product and almost nothing of the standard library. It needs no network,
no token and no rights.
"""
