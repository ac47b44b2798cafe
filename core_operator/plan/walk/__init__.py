"""The walk of a gang with a placement policy from one backend instance to the next."""
