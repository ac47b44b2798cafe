"""The declaration of the backend.

YuniKorn serves no API by which it could be found, so there is one dialect, and it is always
spoken. What core has to do beside lifting gates is said here as data: surplus pods wait, since
one that came first would start the gang without its groups; the table of groups goes from
members that are bound, since a restarted scheduler would reserve room for them again, and
fail them if there is none; and a gang that loses a member while room is reserved for it is made
anew as another application, since that one never gets any further.
"""

import functools
from collections.abc import Callable

from backend_controllers.contract.declaration import (
    Backend,
    Dialect,
    Options,
    Questions,
    Reads,
    Served,
    gang_of_clique,
)
from backend_controllers.yunikorn import event_messages as tidings
from backend_controllers.yunikorn.api import (
    BACKEND_NAME,
    CLIQUES,
    EVENTS,
    KEY_GROUPS,
    KEY_PLACEHOLDER_OF,
    SCHEDULER_NAME,
    ObservedClique,
    ObservedEvent,
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

CAPABILITIES = frozenset(
    {
        names.CAPABILITY_GANG,
        names.CAPABILITY_GROUP_MINIMUMS,
        names.CAPABILITY_PRIORITY,
        names.CAPABILITY_ELASTIC_SURPLUS,
    }
)


def _told(about: Callable[[Watched], tuple[str, str] | None], through: Resource) -> Reads:
    """YuniKorn's events, as news about the gang of something."""
    return Reads(
        EVENTS, ObservedEvent, tidings.SELECTOR, translated=False, about=about, through=through
    )


def detect(served: Served, options: Options) -> Dialect:
    """The only dialect, whatever the cluster serves."""
    del served
    if not isinstance(options, YuniKornOptions):
        raise TypeError(f"these are no options of {BACKEND_NAME}: {options!r}")
    return Dialect(
        name=DIALECT,
        capabilities=CAPABILITIES,
        preparation=PodPreparationSpec(mode=PreparationMode.PER_GANG),
        translate=functools.partial(translate, options),
        mirror=mirror,
        reads=(
            Reads(CLIQUES, ObservedClique, about=gang_of_clique),
            Reads(
                PODS,
                Pod,
                Selector(KEY_PLACEHOLDER_OF),
                translated=False,
                about=gang_of_placeholder,
            ),
            # About members, which may be gone already, and about placeholders.
            _told(clique_of_event, CLIQUES),
            _told(pod_of_event, PODS),
        ),
    )


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(),
    detect=detect,
    options=YuniKornOptions,
    pod_keys=("yunikorn.apache.org/",),
    release=ReleaseRules(
        surplus=SurplusRelease.AFTER_SCHEDULED,
        member_lost=MemberLost.RECREATE_GANG,
        after_bound=AfterBound(drop_annotations=(KEY_GROUPS,)),
    ),
)
