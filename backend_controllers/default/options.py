"""Settings of the `default` backend."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from backend_controllers.contract.declaration import Options

DEFAULT_SCHEDULER = "default-scheduler"


class WithoutGangSupport(StrEnum):
    """What happens to gangs if the cluster cannot guarantee them."""

    GANG_BY_TIMEOUT = "GangByTimeout"
    REFUSE = "Refuse"
    PLAIN_SCHEDULING = "PlainScheduling"


class DefaultOptions(Options):
    """Settings of the `default` backend."""

    without_gang_support: WithoutGangSupport = WithoutGangSupport.GANG_BY_TIMEOUT
    """What happens where the cluster serves no gang scheduling. GangByTimeout: a gang is released as a
    whole; if its minimum is not bound within `bindTimeoutSeconds`, its pods are deleted, created again
    with their gate, and wait. Refuse: gangs wait until the cluster serves gang scheduling.
    PlainScheduling: pods are scheduled one by one without a guarantee, and the gangs report that."""

    bind_timeout_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """With GangByTimeout: seconds in which the minimum of a released gang must be bound. Set it to more
    than a new node takes if nodes are added on demand."""

    scheduler_name: Annotated[str, Field(min_length=1, max_length=253)] = DEFAULT_SCHEDULER
    """Profile of kube-scheduler for the pods; all pods of a gang must have the same one."""
