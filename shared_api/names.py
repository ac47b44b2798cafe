"""Every name that crosses a process boundary, written once.

API groups, labels, annotations, gates, conditions and field managers. This module imports
nothing, so that anything may import it.
"""

GROVE_GROUP = "grove.io"
SCHEDULER_GROUP = "scheduler.grove.io"
VERSION = "v1alpha1"

LABEL_SCHEDULER_BACKEND = "grove.io/scheduler-backend"
LABEL_SCHEDULER_NAME = "grove.io/scheduler-name"
