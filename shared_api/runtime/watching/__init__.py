"""From a watch of the API server to caches and their event handlers."""
