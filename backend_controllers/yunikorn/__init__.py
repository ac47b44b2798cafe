"""YuniKorn: gangs as task groups in annotations of their pods.

YuniKorn has no object for a gang. Pods carry an application, the table of all groups and a policy.
The scheduler creates placeholder pods from the table; once all of them are bound, members replace
them. `translation` publishes what pods carry (its parts: `pod_resources`, `task_groups`,
`queues`). `mirroring` reports the progress of the reservation (its parts: `placeholders`,
`event_messages`). `detection` declares the backend. All modules are pure.
"""

from backend_controllers.yunikorn.detection import BACKEND

__all__ = ["BACKEND"]
