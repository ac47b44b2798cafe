"""Somebody's admission policies and webhooks, for tests of what the API server does not take."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from local_cluster.cluster import Cluster
from shared_api.kube.resources import Resource
from tests.core.kit import Object

WORDS = "nothing of the kind in this place"


class Obstacle(Protocol):
    """Something that stands between a request and what it is for."""

    @property
    def words(self) -> str:
        """What the server says because of it."""

    def manifests(self, place: str) -> list[Object]:
        """What it is made of, for one namespace."""


@dataclass(frozen=True)
class Policy:
    """Somebody's admission policy for one kind in one namespace."""

    kind: Resource
    operation: str = "CREATE"
    unless: str = "false"
    reason: str = "Invalid"
    """With it the server answers 422 as to a broken schema; with Forbidden 403 as to a quota."""
    words: str = WORDS

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
                    "message": self.words,
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


@dataclass(frozen=True)
class DeadWebhook:
    """A webhook for one kind in one namespace that fails closed and does not answer: 500."""

    kind: Resource
    operation: str = "CREATE"
    words: str = "failed calling webhook"

    def manifests(self, place: str) -> list[Object]:
        """What it is made of, for one namespace."""
        name = f"dead.{place}.example.com"
        webhook = {
            "name": name,
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}},
            "rules": [
                _rule(self.kind.group, self.kind.plural, self.operation),
                _rule("", "configmaps", "CREATE"),
            ],
        }
        return [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [webhook],
            }
        ]


def _rule(group: str, plural: str, operation: str) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [plural],
        "operations": [operation],
    }


@contextlib.asynccontextmanager
async def enforced(cluster: Cluster, place: str, obstacle: Obstacle) -> AsyncIterator[None]:
    """The obstacle, in force until the block ends."""
    listing = {"apiVersion": "v1", "kind": "List", "items": obstacle.manifests(place)}
    text = json.dumps(listing)
    await asyncio.to_thread(cluster.kubectl, "create", "-f", "-", input=text)
    probe = ("create", "configmap", "probe", f"-n{place}", "--dry-run=server")
    try:
        async with asyncio.timeout(60):
            while True:
                done = await asyncio.to_thread(cluster.kubectl, *probe, check=False)
                if obstacle.words in done.stderr:
                    break
        yield
    finally:
        await asyncio.to_thread(cluster.kubectl, "delete", "-f", "-", input=text)
