"""The slurm backend on a real Slurm."""
