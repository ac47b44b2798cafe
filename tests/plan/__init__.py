"""What should exist, decided without a cluster."""
