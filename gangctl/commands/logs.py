"""The verb logs: the output of all pods of a set, or of one clique, with the pod's name before each line."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
import typer
import yaml

from gangctl.commands.completion import complete_clique
from gangctl.commands.session import (
    Context,
    Kubeconfig,
    Namespace,
    Output,
    SetName,
    fail,
    not_found,
    read_once,
    until_interrupted,
    wait_for,
)
from gangctl.following import (
    LogLine,
    LogSelection,
    Stream,
    Wanted,
    follow_logs,
    read_logs,
    streams_of,
)
from gangctl.lookup import pods_of
from gangctl.reading import CommandTarget, Part, connected
from gangctl.rendering import OutputFormat
from gangctl.reports.rollout import cliques_of
from gangctl.reports.view import Verdict
from gangctl.snapshot import ListedPod, Snapshot
from shared_api import durations, names
from shared_api.kube.codec import LooseObject
from shared_api.kube.resources import PODS

_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")


def logs(
    name: SetName,
    clique: Annotated[
        str | None,
        typer.Option(
            "--clique", "-c", help="Only pods of this clique.", autocompletion=complete_clique
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as lines are written, until Ctrl-C.")
    ] = False,
    container: Annotated[str | None, typer.Option(help="Only containers of this name.")] = None,
    tail: Annotated[int, typer.Option(help="Last lines of each container; -1 for all.")] = 10,
    since: Annotated[
        str | None, typer.Option(help="Only lines of this duration, such as 5m or 1h.")
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the run before the last restart.")
    ] = False,
    timestamps: Annotated[bool, typer.Option(help="With the time of each line.")] = False,
    namespace: Namespace = None,
    output: Output = OutputFormat.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the logs of all pods of a set, or of one clique.

    With -f also those of pods that are created later. Exit code 1 means that no container has
    started yet.
    """
    target = CommandTarget(kubeconfig, context, namespace)
    options = LogSelection(container, tail, _seconds(since), previous, timestamps)
    snapshot = read_once(target, frozenset({Part.CLIQUES}))
    if snapshot.may_not_list(PODS):
        fail(snapshot.unread[PODS.plural])
    chosen = _podcliques(snapshot, target, name, clique)

    def wanted(pod: ListedPod) -> bool:
        return chosen is None or pod.metadata.labels.get(names.LABEL_PODCLIQUE) in chosen

    pods = [p for p in snapshot.pods_of_set.get((target.home, name), ()) if wanted(p)]
    printer = _Printer(output)
    if follow:
        until_interrupted(target, _follow(target, name, wanted, options, printer))
        return
    streams = list(itertools.chain.from_iterable(streams_of(pod, container) for pod in pods))
    silent = [pod for pod in pods if not any(streams_of(pod, container))]
    wait_for(target, _read(target, streams, options, printer))
    if silent:
        listed = ", ".join(f"{pod.metadata.name} ({pod.state})" for pod in silent[:5])
        more = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
        sys.stderr.write(f"No logs yet: {listed}{more}. See: kubectl gang why {name}\n")
    if printer.failed:
        raise typer.Exit(Verdict.ERROR)
    raise typer.Exit(Verdict.FINE if streams else Verdict.WAITING)


async def _read(
    target: CommandTarget, streams: Sequence[Stream], options: LogSelection, printer: "_Printer"
) -> None:
    async with connected(target) as client:
        await read_logs(client, streams, options, printer)


async def _follow(
    target: CommandTarget, name: str, wanted: Wanted, options: LogSelection, printer: "_Printer"
) -> None:
    async with connected(target) as client:
        await follow_logs(client, pods_of(target, name), wanted, options, printer)


def _podcliques(
    snapshot: Snapshot, target: CommandTarget, name: str, clique: str | None
) -> frozenset[str] | None:
    """Return the PodCliques of a clique of the template, found by its role; None for all."""
    sets = [item for item in snapshot.sets if item.metadata.name == name]
    if not sets:
        not_found(target, name, "PodCliqueSet")
    if clique is None:
        return None
    roles = {one["name"]: one["spec"].get("roleName", "") for one in cliques_of(sets[0])}
    if clique not in roles:
        fail(f"No clique {clique} in {name}. Cliques: {', '.join(roles)}.")
    return frozenset(
        item.metadata.name for item in snapshot.cliques if _is_of(item, name, roles[clique])
    )


def _is_of(item: LooseObject, name: str, role: str) -> bool:
    return item.metadata.labels.get(names.LABEL_PART_OF) == name and (
        item.spec.get("roleName", "") == role
    )


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    found = durations.duration_of(text)
    if found is None:
        fail(f"--since {text} is not a duration. Use a number with a unit, such as 30s, 5m or 1h.")
    return max(1, int(found.total_seconds()))


def _coloured() -> Callable[[LogLine], None]:
    """Return what prints a line on a terminal, each pod in a colour of its own."""
    # Imported here: without a terminal it is not needed.
    from gangctl.terminal import Console, Text

    console = Console(highlight=False, soft_wrap=True)
    colours: dict[str, str] = {}

    def show(line: LogLine) -> None:
        colour = colours.setdefault(line.pod, _COLOURS[len(colours) % len(_COLOURS)])
        prefix = Text(f"[{line.pod}/{line.container}] ", style=colour)
        console.print(prefix.append(line.text, style="default"))

    return show


class _Printer:
    """Prints lines, each pod in a colour of its own on a terminal."""

    def __init__(self, output: OutputFormat) -> None:
        self.failed = False
        self._output = output
        self._coloured = _coloured() if sys.stdout.isatty() else None

    def line(self, line: LogLine) -> None:
        """Print one line at once."""
        if self._output is OutputFormat.JSON:
            sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
        elif self._output is OutputFormat.YAML:
            fields = {"pod": line.pod, "container": line.container, "text": line.text}
            sys.stdout.write(yaml.safe_dump([fields], sort_keys=False, allow_unicode=True))
        elif self._coloured is not None:
            self._coloured(line)
        else:
            sys.stdout.write(f"[{line.pod}/{line.container}] {line.text}\n")
        sys.stdout.flush()

    def problem(self, text: str) -> None:
        """Print why a container cannot be read."""
        self.failed = True
        sys.stderr.write(f"error: {text}\n")
