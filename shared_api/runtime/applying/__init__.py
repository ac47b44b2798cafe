"""Server-side apply and deletes, for one field manager, without needless requests."""
