"""`make demo`: runs gangs with the product on a real cluster on this machine, step by step."""
