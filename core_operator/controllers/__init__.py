"""The controllers of core, one module for each kind that is reconciled."""
