"""What ServiceAccounts were granted, and what the audit log says that they did."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from local_cluster.cluster import Cluster

Object = dict[str, Any]
_ANY = ""


@dataclass(frozen=True, order=True, slots=True)
class Right:
    """One verb on one kind of resource; on one object where that has a name."""

    verb: str
    group: str
    resource: str
    name: str = _ANY

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}.{self.group}{named}".replace(". ", " ").rstrip(".")


@dataclass(frozen=True, slots=True)
class Deeds:
    """What one account did, and what it was refused."""

    used: frozenset[Right]
    refused: frozenset[Right]

    def covers(self, granted: Right) -> bool:
        """Tell whether a granted right was used."""
        return any(
            (used.verb, used.group, used.resource)
            == (granted.verb, granted.group, granted.resource)
            and granted.name in (_ANY, used.name)
            for used in self.used
        )


def granted(cluster: Cluster, namespace: str, account: str) -> frozenset[Right]:
    """The rights that an account has by the bindings of the cluster."""
    found: set[Right] = set()
    for kind in ("clusterrolebindings", "rolebindings"):
        for binding in _items(cluster, kind):
            if any(_is(subject, namespace, account) for subject in binding.get("subjects") or []):
                found.update(_rights(_role(cluster, binding)))
    return frozenset(found)


def deeds(cluster: Cluster, namespace: str) -> dict[str, Deeds]:
    """What the accounts of a namespace did, by their names."""
    prefix = f"system:serviceaccount:{namespace}:"
    used: dict[str, set[Right]] = {}
    refused: dict[str, set[Right]] = {}
    for line in cluster.audit_log.read_text().splitlines():
        if prefix not in line:
            continue
        entry = json.loads(line)
        user, about = entry["user"]["username"], entry.get("objectRef")
        if about is None or not user.startswith(prefix):
            continue
        account = user.removeprefix(prefix)
        decision = entry.get("annotations", {}).get("authorization.k8s.io/decision")
        kept = used if decision == "allow" else refused
        kept.setdefault(account, set()).update(_asked(entry, about))
        used.setdefault(account, set())
    return {
        account: Deeds(frozenset(used[account]), frozenset(refused.get(account, ())))
        for account in used
    }


def _asked(entry: Object, about: Object) -> Iterator[Right]:
    resource = about["resource"]
    if sub := about.get("subresource"):
        resource = f"{resource}/{sub}"
    group, name = about.get("apiGroup", ""), about.get("name", _ANY)
    yield Right(entry["verb"], group, resource, name)
    # An apply that finds nothing creates, and the server then asks for that verb, too.
    if entry["verb"] == "patch" and entry["responseStatus"].get("code") == 201:
        yield Right("create", group, resource, name)


def _rights(role: Object) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or [_ANY]:
                        yield Right(verb, group, resource, name)


def _role(cluster: Cluster, binding: Object) -> Object:
    reference, place = binding["roleRef"], binding["metadata"].get("namespace")
    where = [f"--namespace={place}"] if place else []
    text = cluster.kubectl("get", reference["kind"], reference["name"], *where, "-ojson").stdout
    role: Object = json.loads(text)
    return role


def _items(cluster: Cluster, kind: str) -> Iterable[Object]:
    text = cluster.kubectl("get", kind, "--all-namespaces", "-ojson").stdout
    items: list[Object] = json.loads(text)["items"]
    return items


def _is(subject: Object, namespace: str, account: str) -> bool:
    return (
        subject["kind"] == "ServiceAccount"
        and subject.get("namespace") == namespace
        and subject["name"] == account
    )
