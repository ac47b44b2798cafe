"""The declaration of the backend.

YuniKorn serves no API that discovery could find, so there is one dialect. It is used where YuniKorn's Service
exists, or where an option asserts that YuniKorn is installed. The release rules define what core does beside ungating. Surplus pods wait: a surplus pod that comes
first would start the gang without its groups. The table of groups is removed from bound members: a
restarted scheduler would reserve capacity for them again, and fail them if there is none. A gang
that loses a member during the reservation is recreated as another application, since YuniKorn
never completes the first one.
"""

import functools
from collections.abc import Callable

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import (
    Absent,
    Backend,
    Dialect,
    Options,
    Questions,
    Reads,
    Served,
    gang_of_clique,
)
from backend_controllers.contract.detecting import GANG, checked_options
from backend_controllers.contract.events import EVENTS, SchedulerEvent
from backend_controllers.contract.requested_values import READS_SETS
from backend_controllers.yunikorn import event_messages
from backend_controllers.yunikorn.api import (
    BACKEND_NAME,
    KEY_GROUPS,
    KEY_PLACEHOLDER_OF,
    SCHEDULER_NAME,
    SERVICE,
    YunikornClique,
    clique_of_event,
    gang_of_placeholder,
    pod_of_event,
)
from backend_controllers.yunikorn.mirroring import mirror
from backend_controllers.yunikorn.options import YuniKornOptions
from backend_controllers.yunikorn.translation import translate
from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.pods import Pod
from shared_api.kube.resources import PODS, Resource
from shared_api.models import (
    AfterBound,
    MemberLost,
    PodPreparationSpec,
    PreparationMode,
    ReleaseRules,
    SurplusRelease,
)
from shared_api.runtime.watching.predicates import Watched

DIALECT = "yunikorn.apache.org/task-groups"

_INSTALL = (
    "install YuniKorn with its chart, or set assumeInstalled: true if it runs without this Service"
)
_PREPARATION = PodPreparationSpec(mode=PreparationMode.PER_GANG)
CAPABILITIES = GANG | {names.CAPABILITY_GROUP_MINIMUMS, names.CAPABILITY_PRIORITY}


def _events(about: Callable[[Watched], tuple[str, str] | None], through: Resource) -> Reads:
    """Return YuniKorn's events, as changes of the gang of an object."""
    selector = event_messages.SELECTOR
    return Reads(EVENTS, SchedulerEvent, selector, translated=False, about=about, through=through)


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Return the only dialect, if YuniKorn is installed."""
    chosen = checked_options(options, YuniKornOptions)
    if SERVICE not in served.services and not chosen.assume_installed:
        return Absent(f"Service {SERVICE} in any namespace", _INSTALL, _PREPARATION, CAPABILITIES)
    return Dialect(
        name=DIALECT,
        capabilities=CAPABILITIES,
        preparation=_PREPARATION,
        translate=functools.partial(translate, chosen),
        mirror=mirror,
        reads=(
            READS_SETS,
            Reads(CLIQUES, YunikornClique, about=gang_of_clique),
            Reads(
                PODS, Pod, Selector(KEY_PLACEHOLDER_OF), translated=False, about=gang_of_placeholder
            ),
            # About members, which may be deleted already, and about placeholders.
            _events(clique_of_event, CLIQUES),
            _events(pod_of_event, PODS),
        ),
    )


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(services=(SERVICE,)),
    detect=detect,
    options=YuniKornOptions,
    where_it_runs="kubectl -n yunikorn get pods -l component=yunikorn-scheduler",
    pod_keys=("yunikorn.apache.org/",),
    release=ReleaseRules(
        surplus=SurplusRelease.AFTER_SCHEDULED,
        member_lost=MemberLost.RECREATE_GANG,
        after_bound=AfterBound(drop_annotations=(KEY_GROUPS,)),
    ),
)
