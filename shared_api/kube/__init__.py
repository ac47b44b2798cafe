"""A thin client of the Kubernetes API: bytes in, typed values out.

`resources` names things, `codec` decodes bytes once into small projections, `errors` is
the one error tree, `access` finds the server and the credentials, `transport` moves one
request, `retry` decides what is sent again, `client` offers the verbs. Nothing here caches
objects or knows what a controller is.
"""
