"""What core knows: the caches, and what follows from them. Nothing here writes."""
