"""Completes names in the shell: sets, gangs, pods, cliques, scaling groups and topology levels.

It owns the completion of values, and the program `kubectl_complete-gang`, which kubectl's own
completion runs for `kubectl gang`. One short list per kind is read, with a deadline. An error
completes nothing: a shell that waits for a completion must not print messages.
"""

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import typer

from gangctl.reading import CommandTarget, connected
from gangctl.snapshot import BINDINGS, GANGS, SETS
from shared_api import names
from shared_api.kube.client import EVERYTHING, Client, Selector
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import KubeError
from shared_api.kube.resources import PODS, Resource

PROGRAM = "gangctl"
COMPLETE = "_GANGCTL_COMPLETE"
_DEADLINE = 2.0
# ShellCompDirectiveNoFileComp of cobra, which kubectl is made with.
_NO_FILES = ":4"
_OF_GANGS = Selector(labels=names.LABEL_PODGANG)
Ask = Callable[[Client, CommandTarget], Awaitable[Iterable[str]]]


def complete_set(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a PodCliqueSet."""
    return _completed(ctx, incomplete, lambda client, target: _named(client, target, SETS))


def complete_target(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a set, a gang or a pod of a gang."""

    async def ask(client: Client, target: CommandTarget) -> list[str]:
        return [
            *await _named(client, target, SETS),
            *await _named(client, target, GANGS),
            *await _named(client, target, PODS, _OF_GANGS),
        ]

    return _completed(ctx, incomplete, ask)


def complete_clique(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a clique of the set."""
    return _of_template(ctx, incomplete, "cliques")


def complete_group(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a scaling group of the set."""
    return _of_template(ctx, incomplete, "podCliqueScalingGroups")


def complete_level(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a topology level."""

    async def ask(client: Client, _: CommandTarget) -> list[str]:
        pages = client.pages(BINDINGS, into=LooseObject)
        bindings = [item async for page in pages for item in page.items]
        return [level["domain"] for item in bindings for level in item.spec.get("levels") or ()]

    return _completed(ctx, incomplete, ask)


def _of_template(ctx: typer.Context, incomplete: str, field: str) -> list[str]:
    async def ask(client: Client, target: CommandTarget) -> list[str]:
        # While an option has no value yet, the parser leaves the words before it over.
        name = str(ctx.params.get("name") or next(iter(ctx.args), ""))
        found = await client.get(SETS, name, target.home, into=LooseObject)
        parts: list[dict[str, Any]] = (found.spec.get("template") or {}).get(field) or []
        return [part["name"] for part in parts]

    return _completed(ctx, incomplete, ask)


async def _named(
    client: Client, target: CommandTarget, resource: Resource, selector: Selector = EVERYTHING
) -> list[str]:
    pages = client.pages(
        resource, target.home, into=PartialObject, metadata_only=True, selector=selector
    )
    return [item.metadata.name async for page in pages for item in page.items]


def _completed(ctx: typer.Context, incomplete: str, ask: Ask) -> list[str]:
    given = ctx.params
    target = CommandTarget(given.get("kubeconfig"), given.get("context"), given.get("namespace"))

    async def asked() -> list[str]:
        async with asyncio.timeout(_DEADLINE), connected(target) as client:
            found = {name for name in await ask(client, target) if name.startswith(incomplete)}
            return sorted(found)

    try:
        return asyncio.run(asked())
    except (KubeError, TimeoutError, ValueError):
        return []


def kubectl_complete() -> None:
    """Print the completions of `kubectl gang` as kubectl reads them, from the words after it."""
    # The last word is the one to complete, and may be empty.
    words = [PROGRAM, *sys.argv[1:]]
    os.environ[COMPLETE] = "complete_bash"
    os.environ["COMP_WORDS"] = shlex.join(words)
    os.environ["COMP_CWORD"] = str(len(words) - 1)
    # Imported here: the application imports this module.
    from gangctl.commands.application import run

    try:
        run([])
    finally:
        sys.stdout.write(f"\n{_NO_FILES}\n")
