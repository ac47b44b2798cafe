"""A set in a world where anything may happen, run by the real plans one step at a time."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace as replace_struct

from core_operator.plan.layout.expansion import CliqueInstance, Expansion, expand
from core_operator.plan.layout.history import (
    StoredRevision,
    set_hash,
    stored_revision,
    template_hashes,
)
from core_operator.plan.layout.revisions import revision_manifest
from core_operator.plan.manifests.podcliques import group_podclique, standalone_podclique
from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.plan.pods.preparation import Preparation
from core_operator.plan.statuses.conditions import find
from core_operator.plan.statuses.podclique import podclique_status
from core_operator.plan.termination import (
    breaches_of,
    due_terminations,
    pods_to_terminate,
    termination_delay,
)
from core_operator.plan.updates.progress import plan_progress
from core_operator.state.update_turns import Updates
from core_operator.writes.pod_writer import would_break_minimum
from shared_api import names
from shared_api.kube.pods import Pod
from shared_api.models import (
    OwnerReference,
    PodClique,
    PodCliqueSet,
    PodCliqueSetStatus,
    PodCliqueStatus,
)
from tests.plan.pod_samples import BACKEND, GATED, READY, PodState, going, pod
from tests.plan.samples import clique, group, pod_clique_set, pod_spec

if TYPE_CHECKING:
    from core_operator.state.view import View

OWNER = OwnerReference(api_version="v1", kind="Any", name="owner", uid="owner", controller=True)


@dataclass(frozen=True)
class Shape:
    """The sizes that a set begins with."""

    replicas: int
    pods: int
    minimum: int
    copies: int
    min_copies: int


@dataclass
class _Pod:
    clique: str
    index: int
    state: PodState
    template: str
    born: str


@dataclass
class World:
    """One set with all that it consists of."""

    shape: Shape
    version: int = 0
    automatic: bool = True
    now: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    status: PodCliqueSetStatus = field(default_factory=PodCliqueSetStatus)
    cliques: dict[str, PodClique] = field(default_factory=dict)
    copies: dict[str, int] = field(default_factory=dict)
    pods: dict[str, _Pod] = field(default_factory=dict)
    stored: dict[str, StoredRevision] = field(default_factory=dict)
    replicas: int = 0
    deleted_by_us: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.replicas = self.shape.replicas
        self._told: dict[str, object] = {}
        self._updates = Updates(cast("View", self))
        self._look()

    # What `Updates` asks a View.

    def expansion(self, pcs: PodCliqueSet) -> Expansion:
        return self._expansion

    def revision_hash(self, pcs: PodCliqueSet) -> str:
        return self._hash

    def revisions_of(self, pcs: PodCliqueSet) -> dict[str, StoredRevision]:
        return self.stored

    def clique(self, name: str, pcs: PodCliqueSet) -> PodClique | None:
        return self.cliques.get(name)

    def pods_of(self, podclique: PodClique) -> list[Pod]:
        name = podclique.metadata.name
        return [
            _observed(key, of.clique, of.index, of.state, (of.template, of.born))
            for key, of in self.pods.items()
            if of.clique == name
        ]

    # The controllers, each from what is there now.

    def step(self) -> None:
        """Everything once."""
        self.store()
        self.orchestrate()
        self.make_children()
        for name in list(self.cliques):
            self.make_pods(name)
        for name in list(self.cliques):
            self.tell(name)

    def store(self) -> None:
        manifest = cast("dict[str, Any]", revision_manifest(self.pcs, len(self.stored) + 1))
        if self._hash not in {revision.set_hash for revision in self.stored.values()}:
            revision = stored_revision(len(self.stored) + 1, {}, manifest["data"])
            hashes = template_hashes(self.pcs, self.stored.values())
            self.stored[manifest["metadata"]["name"]] = replace(revision, hashes=hashes)
            self._look()

    def orchestrate(self) -> None:
        replicas = self._updates.replicas(self.pcs)
        progress = plan_progress(self.pcs, self._hash, replicas, {}, self.now)
        self.status = PodCliqueSetStatus.model_validate(progress.manifest())
        self._look()
        delay = termination_delay(self.pcs)
        for doom in due_terminations(replicas, breaches_of(self.cliques.values()), delay, self.now):
            members = [self.cliques[name] for name in doom.cliques if name in self.cliques]
            assert any(not self.serves(member.metadata.name) for member in members)
            pods = [found for member in members for found in self.pods_of(member)]
            self._delete(pods_to_terminate(doom, pods))
            for member in members:
                self._mark(member, is_marked=True)
        for facts in (one for replica in replicas for one in replica.cliques):
            live = self.cliques.get(facts.name)
            if live is not None and facts.is_available and self.serves(facts.name):
                self._mark(live, is_marked=False)

    def make_children(self) -> None:
        wanted = {instance.name: instance for instance in self._expansion.cliques}
        for name in [name for name in self.cliques if name not in wanted]:
            del self.cliques[name]
            for key in [key for key, found in self.pods.items() if found.clique == name]:
                del self.pods[key]
        for name, instance in wanted.items():
            live = self.cliques.get(name)
            if live is not None and _hash_of(live) == instance.template_hash:
                continue
            replicas = None if live is None else live.spec.replicas
            make = standalone_podclique if instance.group is None else group_podclique
            manifest = make(self.pcs, instance, OWNER, replicas)
            manifest = self._updates.manifest(self.pcs, instance, live, manifest)
            made = PodClique.model_validate(manifest)
            uid = {"uid": f"uid-of-{name}"}
            metadata = made.metadata.model_copy(update=uid)
            status = None if live is None else live.status
            self.cliques[name] = made.model_copy(update={"metadata": metadata, "status": status})

    def make_pods(self, name: str) -> None:
        clique = self.cliques[name]
        pods = self.pods_of(clique)
        plan = plan_pods(clique, pods, clique.spec.minimum, Preparation(BACKEND))
        delete = plan.delete or self._updates.step(self.pcs, clique)
        if delete:
            view, is_update = cast("View", self), not plan.delete
            assert not would_break_minimum(view, self.pcs, clique, delete, is_update=is_update)
            before = self._counts()
            self._delete(delete)
            self._judge(clique, before)
        for new in plan.create:
            template = _hash_of(clique)
            born = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            self.pods[new.name] = _Pod(name, new.index, GATED, template, born)

    def tell(self, name: str) -> None:
        clique = self.cliques[name]
        seen = (self.now, self._hash, self.status, clique.spec, *self.pods_of(clique))
        if self._told.get(name) == (seen, clique.status):
            return
        course = self._updates.policy(self.pcs, clique)
        said = podclique_status(clique, self.pods_of(clique), None, self.now, None, course)
        marks = clique.status.conditions if clique.status is not None else ()
        mark = find(marks, names.CONDITION_GANG_TERMINATION_IN_PROGRESS)
        status = PodCliqueStatus.model_validate(said)
        if mark is not None:
            conditions = (*status.conditions, mark)
            status = status.model_copy(update={"conditions": conditions})
        self.cliques[name] = clique.model_copy(update={"status": status})
        self._told[name] = (seen, status)

    # What happens to it.

    def update(self, version: int) -> None:
        self.version = version
        self._look()

    def choose(self, *, automatic: bool) -> None:
        self.automatic = automatic
        self._look()

    def scale(self, which: int, size: int) -> None:
        """A set, a group or a clique; never below its minimum, which the server refuses."""
        if which == 0:
            self.replicas = min(2, size)
        elif which == 1:
            self.copies["w-0-s"] = max(self.shape.min_copies, size)
        elif "w-0-a" in self.cliques:
            clique = self.cliques["w-0-a"]
            wanted = max(clique.spec.minimum, size)
            spec = clique.spec.model_copy(update={"replicas": wanted})
            self.cliques["w-0-a"] = clique.model_copy(update={"spec": spec})
        self._look()

    def become(self, number: int, state: PodState) -> None:
        if self.pods:
            found = self.pods[sorted(self.pods)[number % len(self.pods)]]
            if not found.state.terminating:
                found.state = state

    def take(self, number: int, *, at_once: bool) -> None:
        if self.pods:
            key = sorted(self.pods)[number % len(self.pods)]
            if at_once:
                del self.pods[key]
            else:
                self.pods[key].state = going(self.pods[key].state)

    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def settle(self) -> None:
        """All that is going is gone, and all else is ready."""
        self.pods = {key: found for key, found in self.pods.items() if not found.state.terminating}
        for found in self.pods.values():
            if found.state.phase != "Failed":
                found.state = READY

    def serves(self, name: str) -> bool:
        clique = self.cliques[name]
        return self._counts()[name] >= clique.spec.minimum

    @property
    def is_converged(self) -> bool:
        """Tell whether everything is ready and of the current template."""
        return all(
            self._counts()[instance.name] == self.cliques[instance.name].spec.replicas
            and all(
                found.template == instance.template_hash
                for found in self.pods.values()
                if found.clique == instance.name
            )
            for instance in self._expansion.cliques
        )

    # How it is kept.

    def _look(self) -> None:
        found = _template(self.shape, self.version, self.replicas, automatic=self.automatic)
        self.pcs = found.model_copy(update={"status": self.status})
        hashes = template_hashes(self.pcs, self.stored.values())
        self._hash = set_hash(self.pcs, self.stored.values())
        self._expansion = expand(self.pcs, self.copies, hashes)

    def _delete(self, pods: Any) -> None:
        for found in pods:
            self.pods[found.metadata.name].state = going(self.pods[found.metadata.name].state)
            self.deleted_by_us[found.metadata.labels[names.LABEL_PODCLIQUE]] += 1

    def _counts(self) -> Counter[str]:
        """Pods that serve, by PodClique."""
        return Counter(
            found.clique
            for found in self.pods.values()
            if found.state.ready and not found.state.terminating
        )

    def _judge(self, clique: PodClique, before: Counter[str]) -> None:
        """The promise, in words of its own: our deletions leave the minimum."""
        name, after = clique.metadata.name, self._counts()
        instance = next(i for i in self._expansion.cliques if i.name == name)
        record = self.status.update_progress
        turns = record.currently_updating if record is not None else ()
        is_turn = any(one.replica_index == instance.pcs_index for one in turns)
        if instance.group is not None and is_turn:
            self._judge_group(instance, before, after)
            return
        floor = clique.spec.minimum
        if is_turn:
            floor = min(floor, clique.spec.replicas - 1)
        assert after[name] >= min(floor, before[name]), f"{name}: {before[name]} -> {after[name]}"

    def _judge_group(
        self, instance: CliqueInstance, before: Counter[str], after: Counter[str]
    ) -> None:
        assert instance.group is not None
        members = [
            one for one in self._expansion.cliques if one.group and one.group == instance.group
        ]
        total = {one.group_index for one in members}

        def available(counts: Counter[str]) -> int:
            down = {
                one.group_index
                for one in members
                if one.name not in self.cliques
                or counts[one.name] < self.cliques[one.name].spec.minimum
            }
            return len(total - down)

        floor = min(instance.group.config.min_available, len(total) - 1)
        assert available(after) >= min(floor, available(before))

    @property
    def is_updating(self) -> bool:
        record = self.status.update_progress
        return record is not None and record.update_ended_at is None

    def _mark(self, clique: PodClique, *, is_marked: bool) -> None:
        status = clique.status or PodCliqueStatus()
        kind = names.CONDITION_GANG_TERMINATION_IN_PROGRESS
        kept = tuple(found for found in status.conditions if found.type != kind)
        if is_marked:
            mark = {
                "type": kind,
                "status": "True",
                "reason": names.REASON_GANG_TERMINATION_ACTIVE,
                "message": "",
                "lastTransitionTime": self.now,
            }
            kept = (*kept, type(status).model_validate({"conditions": [mark]}).conditions[0])
        changed = status.model_copy(update={"conditions": kept})
        name = clique.metadata.name
        self.cliques[name] = clique.model_copy(update={"status": changed})


def _hash_of(podclique: PodClique) -> str:
    return podclique.metadata.labels[names.LABEL_POD_TEMPLATE_HASH]


@lru_cache(maxsize=4096)
def _observed(name: str, clique: str, index: int, state: PodState, made_as: tuple[str, str]) -> Pod:
    template, born = made_as
    labels = {names.LABEL_POD_TEMPLATE_HASH: template}
    made = pod(index, state, clique=clique, name=name, labels=labels)
    return replace_struct(made, metadata=replace_struct(made.metadata, creation_timestamp=born))


@lru_cache(maxsize=1024)
def _template(shape: Shape, version: int, replicas: int, *, automatic: bool) -> PodCliqueSet:
    template = pod_clique_set(
        clique("a", shape.pods, shape.minimum, pod=pod_spec(version=version)),
        clique("b", 1, pod=pod_spec(version=version // 2)),
        clique("c", 1),
        groups=(group("s", "b", "c", replicas=shape.copies, minimum=shape.min_copies),),
        replicas=replicas,
        terminationDelay="60s",
    ).manifest()
    strategy = "RollingRecreate" if automatic else "OnDelete"
    cast("dict[str, Any]", template["spec"])["updateStrategy"] = {"type": strategy}
    return PodCliqueSet.model_validate(template)
