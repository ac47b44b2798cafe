"""Somebody's admission policies, for tests of what the API server refuses."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from local_cluster.cluster import Cluster
from shared_api.kube.resources import Resource
from tests.core.kit import Object

WORDS = "nothing of the kind in this place"


@dataclass(frozen=True)
class Policy:
    """Somebody's admission policy for one kind in one namespace."""

    kind: Resource
    operation: str = "CREATE"
    unless: str = "false"
    reason: str = "Invalid"
    """With it the server answers 422 as to a broken schema; with Forbidden 403 as to a quota."""

    def manifests(self, place: str) -> list[Object]:
        name, api = f"refusals-{place}", "admissionregistration.k8s.io/v1"
        within = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}}}
        policy = {
            "matchConstraints": {
                **within,
                "resourceRules": [
                    _rule(self.kind.group, self.kind.plural, self.operation),
                    # By which it is found out whether the policy is in force yet.
                    _rule("", "configmaps", "CREATE"),
                ],
            },
            "validations": [
                {
                    "expression": f"object.kind != 'ConfigMap' && ({self.unless})",
                    "reason": self.reason,
                    "message": WORDS,
                }
            ],
        }
        binding = {"policyName": name, "validationActions": ["Deny"]}
        kind = "ValidatingAdmissionPolicy"
        return [
            {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": policy},
            {
                "apiVersion": api,
                "kind": f"{kind}Binding",
                "metadata": {"name": name},
                "spec": binding,
            },
        ]


def _rule(group: str, plural: str, operation: str) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [plural],
        "operations": [operation],
    }


@contextlib.asynccontextmanager
async def enforced(cluster: Cluster, place: str, policy: Policy) -> AsyncIterator[None]:
    """The policy, in force until the block ends."""
    listing = {"apiVersion": "v1", "kind": "List", "items": policy.manifests(place)}
    text = json.dumps(listing)
    await asyncio.to_thread(cluster.kubectl, "create", "-f", "-", input=text)
    probe = ("create", "configmap", "probe", f"-n{place}", "--dry-run=server")
    try:
        async with asyncio.timeout(60):
            while True:
                done = await asyncio.to_thread(cluster.kubectl, *probe, check=False)
                if WORDS in done.stderr:
                    break
        yield
    finally:
        await asyncio.to_thread(cluster.kubectl, "delete", "-f", "-", input=text)
