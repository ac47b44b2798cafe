"""Settings of the `default` backend."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from backend_controllers.contract.declaration import Options

DEFAULT_SCHEDULER = "default-scheduler"


class WithoutGangSupport(StrEnum):
    """What happens to gangs if the cluster cannot guarantee them."""

    REFUSE = "Refuse"
    PLAIN_SCHEDULING = "PlainScheduling"


class DefaultOptions(Options):
    """Settings of the `default` backend."""

    without_gang_support: WithoutGangSupport = WithoutGangSupport.REFUSE
    """Refuse: gangs wait until the cluster serves gang scheduling. PlainScheduling: their pods are
    scheduled one by one without a guarantee, and the gangs report that."""

    scheduler_name: Annotated[str, Field(min_length=1, max_length=253)] = DEFAULT_SCHEDULER
    """Profile of kube-scheduler for the pods; all pods of a gang must have the same one."""
