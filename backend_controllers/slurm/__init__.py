"""Slurm: gangs as jobs of an HPC cluster, over slurmrestd.

`detection` declares the backend; its translation is that of every far side (`contract/remote`).
`executor` submits, starts and cancels jobs through `client`, and `job_watch` observes them. `mapping`,
`runners` and `script` turn an order into a job, `tags` and `units` read jobs; these are pure.
"""

from backend_controllers.slurm.detection import BACKEND

__all__ = ["BACKEND"]
