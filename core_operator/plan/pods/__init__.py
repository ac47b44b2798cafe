"""The pods that exist: which to create and delete, and what each of them counts for."""
