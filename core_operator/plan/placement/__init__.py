"""Where a gang goes: its backend, and the topology in which its pods are kept together."""
