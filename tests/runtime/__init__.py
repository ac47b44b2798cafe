"""The machinery between the API server and a reconciler."""
