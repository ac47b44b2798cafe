"""`make demo`: a real cluster on this machine, the product on it, and gangs, told step by step."""
