"""Attacks on the installed product, each under the attacker's own identity and rights."""
