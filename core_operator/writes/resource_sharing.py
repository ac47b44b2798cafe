"""Writes shared ResourceClaims and ComputeDomains, and reports what the cluster lacks for them.

A set that needs a missing API, claim template or setting is blocked before any of its objects are
created; existing objects stay. Everything that was missing is watched, so the block ends by itself.
Only claims that the owner controls are changed or deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core_operator.context import CoreContext
from core_operator.plan.layout import naming
from core_operator.plan.layout.expansion import MOST_CLAIMS, claim_count, clique_named
from core_operator.plan.manifests import compute_domains
from core_operator.plan.manifests.claims import (
    Claim,
    claim_manifest,
    clique_claims,
    external_templates,
    group_claims,
    is_granted,
    set_claims,
    shares_claims,
)
from core_operator.plan.manifests.compute_domains import COMPUTE_DOMAINS, domain_manifest, domains
from core_operator.plan.manifests.pod_claims import claims_of_pod, with_claims
from core_operator.plan.statuses.reasons import Blocker, BlockingReason
from core_operator.state import caches as kinds
from core_operator.state.caches import OWNER
from core_operator.writes.child_writer import (
    ChildWriter,
    RefusalReport,
    Removal,
    Wanted,
    Write,
    unwanted,
)
from shared_api import names
from shared_api.kube.client import Patch
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from shared_api.models import JsonObject, KubeObject, PodClique, PodCliqueScalingGroup, PodCliqueSet
from shared_api.runtime.applying.applier import Applier
from shared_api.runtime.applying.targets import Behalf, Target, Written
from shared_api.runtime.reconciling.outcome import Terminal, WaitForEvent
from shared_api.runtime.watching.owners import Owner, controller_of, identity


@dataclass(frozen=True, slots=True)
class _Relabel:
    """A claim of ours without its labels; its spec is immutable, so only labels are sent."""

    target: Target[PartialObject]
    observed: PartialObject
    labels: Mapping[str, str]

    async def write(self, applier: Applier, behalf: Behalf) -> Written:
        """Restore the labels."""
        body: JsonObject = {
            "metadata": {"uid": self.observed.metadata.uid, "labels": {**self.labels}}
        }
        return await applier.patch(self.target, self.observed, Patch(body), behalf)


class Sharing:
    """Writes claims and ComputeDomains for the reconciler of one kind."""

    def __init__(self, context: CoreContext, applier: Applier) -> None:
        self._context = context
        self._view = context.view
        self._children = ChildWriter(context, applier)
        self._caches = context.view.caches
        self._claims = Target(RESOURCE_CLAIMS, self._caches.claims)
        self._domains = Target(COMPUTE_DOMAINS, self._caches.domains)
        self._is_on = context.settings.network.auto_mnnvl_enabled

    def ensure_possible(self, pcs: PodCliqueSet) -> None:
        """Raise, and report it, unless the cluster has all that the pods of a set share."""
        refusal = self._refusal(pcs)
        if refusal is not None:
            self._context.report_problem(pcs, refusal)
            raise WaitForEvent(refusal.message)

    async def settle_set(self, pcs: PodCliqueSet, behalf: Behalf) -> None:
        """Write the claims and ComputeDomains of a set."""
        await self._settle(pcs, pcs, set_claims(pcs), behalf)
        if self._is_on:
            await self._settle_domains(pcs, behalf)

    async def settle_group(
        self, pcs: PodCliqueSet, group: PodCliqueScalingGroup, behalf: Behalf
    ) -> None:
        """Write the claims of a scaling group."""
        groups = self._view.expansion(pcs).groups
        found = next((one for one in groups if one.name == group.metadata.name), None)
        if found is not None and found.config.resource_sharing:
            await self._settle(pcs, group, group_claims(pcs, found), behalf)

    async def settle_clique(
        self, pcs: PodCliqueSet, clique: PodClique, behalf: Behalf, *, grows: bool
    ) -> None:
        """Write the claims of a PodClique, before pods that use them are created."""
        if grows:
            self.ensure_possible(pcs)
        found = clique_named(self._view.expansion(pcs), clique.metadata.name)
        if found is not None and found.template.resource_sharing:
            indexes = (pod.index for pod in self._view.pods_of(clique))
            used = [index for index in indexes if index is not None]
            self._ensure_size(
                clique, claim_count(found.template.resource_sharing, clique.spec.replicas)
            )
            wanted = clique_claims(pcs, found, clique.spec.replicas, used)
            await self._settle(pcs, clique, wanted, behalf)

    def with_claims(self, pcs: PodCliqueSet, clique: PodClique, pod: JsonObject) -> JsonObject:
        """Return the manifest of a pod with all that it shares."""
        found = clique_named(self._view.expansion(pcs), clique.metadata.name)
        if found is None:
            return pod
        claiming = with_claims(pod, claims_of_pod(pcs, found, _index(pod)))
        return compute_domains.with_domain(claiming, pcs, found) if self._is_on else claiming

    def _ensure_size(self, clique: PodClique, claims: int) -> None:
        """Raise, and report it, if a PodClique in its live size would have too many claims."""
        if claims > MOST_CLAIMS:
            note = (
                f"PodClique {clique.metadata.name} has too many ResourceClaims: {claims} for"
                f" {clique.spec.replicas} pods, at most {MOST_CLAIMS} are allowed. Lower its"
                " replicas, or share fewer claims"
            )
            self._context.report_problem(clique, Blocker(BlockingReason.TOO_LARGE, note))
            raise Terminal(note)

    def _refusal(self, pcs: PodCliqueSet) -> Blocker | None:
        return self._claims_refusal(pcs) or self._domains_refusal(pcs)

    def _claims_refusal(self, pcs: PodCliqueSet) -> Blocker | None:
        if not shares_claims(pcs):
            return None
        for kind in (RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES):
            if not self._caches.offer.has(kind):
                note = (
                    f"resourceSharing needs {kind.api_version}, which this cluster does not serve"
                )
                return Blocker(BlockingReason.RESOURCE_API_MISSING, note)
        templates, own = self._caches.claim_templates, pcs.metadata.namespace or ""
        needed = [(key, templates.get(key)) for key in external_templates(pcs)]
        missing = [str(key) for key, found in needed if found is None and key.namespace == own]
        if missing:
            note = f"there is no ResourceClaimTemplate {', '.join(missing)}"
            return Blocker(BlockingReason.CLAIM_TEMPLATE_MISSING, note)
        denied = [key for key, found in needed if found is None or not is_granted(pcs, found)]
        if denied:
            # One message for both cases: users must not learn what other namespaces have.
            note = (
                f"ResourceClaimTemplate {', '.join(map(str, denied))} does not exist or is not"
                f" shared with namespace {own}. Its owner can share it: kubectl annotate"
                f" --namespace={denied[0].namespace} resourceclaimtemplate {denied[0].name}"
                f" {names.ANNOTATION_SHARE_WITH}={own}"
            )
            return Blocker(BlockingReason.CLAIM_TEMPLATE_NOT_GRANTED, note)
        return None

    def _domains_refusal(self, pcs: PodCliqueSet) -> Blocker | None:
        if not compute_domains.names_group(pcs):
            return None
        annotation = names.ANNOTATION_MNNVL_GROUP
        if not self._is_on:
            note = f"annotation {annotation} names a group, and network.autoMNNVLEnabled is off"
            return Blocker(BlockingReason.MNNVL_DISABLED, note)
        if (wrong := compute_domains.invalid_group(pcs)) is not None:
            note = f"annotation {annotation} is not a valid name: {wrong!r}"
            return Blocker(BlockingReason.MNNVL_GROUP_INVALID, note)
        if domains(pcs) and not self._caches.offer.has(COMPUTE_DOMAINS):
            note = f"{COMPUTE_DOMAINS} are needed, and the cluster has no such kind"
            return Blocker(BlockingReason.COMPUTE_DOMAINS_MISSING, note)
        return None

    async def _settle(
        self, pcs: PodCliqueSet, owner: KubeObject, claims: Sequence[Claim], behalf: Behalf
    ) -> None:
        parent = _identity(owner)
        if not claims and not self._caches.claims.by_index(OWNER, parent):
            return
        wanted = (write for claim in claims if (write := self._write(pcs, owner, claim)))
        named = [claim.name for claim in claims]
        going = unwanted(self._claims, parent, named)
        await self._write_all(owner, wanted, going, behalf)

    def _write(self, pcs: PodCliqueSet, owner: KubeObject, claim: Claim) -> Write | None:
        """Return how to write a claim; None if it exists, is ours and has its labels."""
        key = ObjectKey(pcs.metadata.namespace or "", claim.name)
        found = self._caches.claims.get(key)
        is_ours = found is not None and controller_of(found) == _identity(owner)
        if found is not None and is_ours and not found.metadata.is_terminating:
            if claim.labels.items() <= found.metadata.labels.items():
                return None
            return _Relabel(self._claims, found, claim.labels)
        reference = naming.controller_reference(owner)
        try:
            manifest = claim_manifest(pcs, claim, reference, self._caches.claim_templates.get)
        except LookupError as error:
            # The template or its grant is gone since the check.
            raise WaitForEvent(str(error)) from error
        return Wanted(self._claims, manifest)

    async def _settle_domains(self, pcs: PodCliqueSet, behalf: Behalf) -> None:
        wanted, parent = domains(pcs), _identity(pcs)
        if wanted or self._caches.domains.by_index(OWNER, parent):
            named = [domain.name for domain in wanted]
            going = unwanted(self._domains, parent, named)
            writes = (Wanted(self._domains, domain_manifest(pcs, domain)) for domain in wanted)
            await self._write_all(pcs, writes, going, behalf)

    async def _write_all(
        self, owner: KubeObject, wanted: Iterable[Write], gone: Iterable[Removal], behalf: Behalf
    ) -> None:
        message = "the server refuses what pods share"
        report = RefusalReport(owner, owner, BlockingReason.CLAIM_REFUSED, message)
        await self._children.settle(wanted, gone, report, behalf)


def _identity(owner: KubeObject) -> Owner:
    found = {kind.kind: kind for kind in (kinds.SETS, kinds.GROUPS, kinds.CLIQUES)}
    return identity(found[owner.KIND], owner)


def _index(pod: JsonObject) -> int:
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    labels = metadata["labels"]
    assert isinstance(labels, dict)
    return int(str(labels[names.LABEL_POD_INDEX]))
