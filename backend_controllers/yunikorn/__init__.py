"""YuniKorn: gangs as task groups in annotations of their pods.

YuniKorn has no object for a gang. Pods carry an application, the table of all groups and a
policy; the scheduler makes placeholder pods from the table, and members take their places
once all of them are bound. `translation` publishes what pods carry (its parts: `pod_resources`,
`task_groups`, `queues`), `mirroring` says how the reservation fares (its parts:
`placeholders`, `event_messages`), `detection` declares the backend. All of it is pure.
"""

from backend_controllers.yunikorn.detection import BACKEND

__all__ = ["BACKEND"]
