"""How long people wait for `kubectl gang` in a large cluster."""
