"""Which change of which object makes which controller reconcile which key."""
