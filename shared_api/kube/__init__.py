"""A thin client of the Kubernetes API: bytes in, typed values out.

`resources` declares kinds and their paths. `codec` decodes bytes into small projections. `errors`
is the tree of errors. `access` finds the server and the credentials. `http` sends one request.
`retry` decides which request is sent again. `client` offers the verbs. The package must not cache
objects and must not know what a controller is.
"""
