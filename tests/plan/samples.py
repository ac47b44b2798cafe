"""Workloads for the tests of plans: small ones by hand, any legal one by hypothesis."""

from hypothesis import settings
from hypothesis import strategies as st

from core_operator.plan.placement.backends import Choice
from shared_api import names
from shared_api.models import (
    JsonObject,
    PodCliqueScalingGroupConfig,
    PodCliqueSet,
    PodCliqueTemplateSpec,
    SchedulerBackendSpec,
)

NAMESPACE = "research"
QUICK = settings(max_examples=40, deadline=None)
"""For properties of plans: no deadline, since the machine may be busy."""

SET_UID = "5e7a0001-0000-4000-8000-000000000001"

JSON_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4))
JSON_OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(
    st.text(min_size=1, max_size=4),
    st.recursive(
        JSON_LEAVES,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3),
        ),
        max_leaves=6,
    ),
    max_size=4,
)


def chosen(backend: str | None, scheduler: str) -> Choice:
    """The choice of a backend."""
    return Choice(backend, scheduler, ok=True, reason=names.REASON_SELECTED, message="")


def pod_spec(**fields: object) -> dict[str, object]:
    """A pod spec of one container."""
    return {"containers": [{"name": "main", "image": "registry.example.com/app:1"}], **fields}


def clique(
    name: str,
    replicas: int = 1,
    minimum: int | None = None,
    *,
    pod: dict[str, object] | None = None,
    spec: dict[str, object] | None = None,
    **fields: object,
) -> PodCliqueTemplateSpec:
    """A clique whose role is its name."""
    values: dict[str, object] = {
        "roleName": name,
        "podSpec": pod or pod_spec(),
        "replicas": replicas,
        **(spec or {}),
    }
    if minimum is not None:
        values["minAvailable"] = minimum
    return PodCliqueTemplateSpec.model_validate({"name": name, "spec": values, **fields})


def group(
    name: str, *cliques: str, replicas: int = 1, minimum: int = 1, **fields: object
) -> PodCliqueScalingGroupConfig:
    """A scaling group of cliques."""
    return PodCliqueScalingGroupConfig.model_validate(
        {
            "name": name,
            "cliqueNames": list(cliques),
            "replicas": replicas,
            "minAvailable": minimum,
            **fields,
        }
    )


def pod_clique_set(
    *cliques: PodCliqueTemplateSpec,
    groups: tuple[PodCliqueScalingGroupConfig, ...] = (),
    replicas: int = 1,
    metadata: dict[str, object] | None = None,
    **template: object,
) -> PodCliqueSet:
    """A set named `w`, as the API server sends it."""
    return PodCliqueSet.model_validate(
        {
            "metadata": {
                "name": "w",
                "namespace": NAMESPACE,
                "uid": SET_UID,
                "generation": 1,
                **(metadata or {}),
            },
            "spec": {
                "replicas": replicas,
                "template": {
                    "cliques": [c.manifest() for c in cliques],
                    "podCliqueScalingGroups": [g.manifest() for g in groups],
                    **template,
                },
            },
        }
    )


def worked_example(
    *, replicas: int = 1, metadata: dict[str, object] | None = None, **template: object
) -> PodCliqueSet:
    """Two pods `a` and three copies of one `b` with three `c`, one of the copies in the base."""
    return pod_clique_set(
        clique("a", 2, 1),
        clique("b", 1),
        clique("c", 3, 2),
        groups=(group("s", "b", "c", replicas=3, minimum=1),),
        replicas=replicas,
        metadata=metadata,
        **template,
    )


def record(
    *scheduler_names: str, capabilities: tuple[str, ...] = ("Gang",), **spec: object
) -> SchedulerBackendSpec:
    """What a backend says of itself; it leaves the pods' schedulerName alone."""
    return SchedulerBackendSpec.model_validate(
        {
            "schedulerNames": list(scheduler_names),
            "capabilities": list(capabilities),
            "preparation": {"mode": "Static"},
            "schedulingGate": "example.com/gate",
            **spec,
        }
    )


@st.composite
def workloads(draw: st.DrawFn) -> PodCliqueSet:
    """Any set that the API server would take, of few and small parts."""
    # Letters only: with digits and hyphens two cliques may want one name, which has its own test.
    named = draw(
        st.lists(st.text("abcxyz", min_size=1, max_size=6), min_size=1, max_size=5, unique=True)
    )
    cliques = []
    for name in named:
        replicas = draw(st.integers(1, 4))
        minimum = draw(st.none() | st.integers(1, replicas))
        cliques.append(clique(name, replicas, minimum))
    homes = draw(
        st.lists(st.sampled_from(["", "p", "q"]), min_size=len(named), max_size=len(named))
    )
    groups = []
    for home in sorted(set(homes) - {""}):
        members = [name for name, at in zip(named, homes, strict=True) if at == home]
        replicas = draw(st.integers(1, 4))
        minimum = draw(st.integers(1, replicas))
        groups.append(
            group(home, *draw(st.permutations(members)), replicas=replicas, minimum=minimum)
        )
    startup = draw(st.sampled_from(["CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder"]))
    return pod_clique_set(
        *cliques,
        groups=tuple(groups),
        replicas=draw(st.integers(0, 3)),
        cliqueStartupType=startup,
    )


@st.composite
def live_sizes(draw: st.DrawFn, pcs: PodCliqueSet) -> dict[str, int]:
    """Live sizes of some of the set's scaling groups, by full name."""
    return {
        f"w-{index}-{config.name}": draw(st.integers(0, 6))
        for index in range(pcs.spec.replicas)
        for config in pcs.spec.template.pod_clique_scaling_groups
        if draw(st.booleans())
    }
