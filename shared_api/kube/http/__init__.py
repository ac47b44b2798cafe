"""HTTP/1.1 to the API server; the only package that talks to a socket."""
