"""Probes as they are carried out: an HTTP request, a connection, or a command.

It owns the clockwork of one probe. It decides nothing: verdicts come from probes.py, and what
follows from them is the container's business.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from local_cluster.api import Object
from local_cluster.process_node.probes import (
    ProbeKind,
    Timing,
    first_verdict,
    judge,
    port_number,
    read_timing,
)
from local_cluster.process_node.processes import Launch, run_to_end

FIRST_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """The running container that probes look at."""

    container: Object
    ip: str
    command: Callable[[list[str]], Launch]
    http: aiohttp.ClientSession


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """One look: the verdict after it, and what went wrong, if anything did."""

    healthy: bool | None
    problem: str | None


async def probe_until(
    kind: ProbeKind, target: ProbeTarget, enough: Callable[[ProbeOutcome], bool]
) -> ProbeOutcome:
    """Probe periodically until an outcome is sufficient, and return it."""
    probe = target.container[kind.value]
    timing = read_timing(probe)
    verdict = first_verdict(kind)
    await asyncio.sleep(timing.initial_delay)
    eager = kind is not ProbeKind.LIVENESS
    while True:
        problem = await (_first_look if eager else _look)(probe, target, timing)
        eager = False
        verdict = judge(verdict, timing, succeeded=problem is None)
        outcome = ProbeOutcome(verdict.healthy, problem)
        if enough(outcome):
            return outcome
        await asyncio.sleep(timing.period)


async def _look(probe: Object, target: ProbeTarget, timing: Timing) -> str | None:
    """Look once; return what is wrong, or None."""
    return await attempt(probe, target, timing.timeout)


async def _first_look(probe: Object, target: ProbeTarget, timing: Timing) -> str | None:
    """Look more and more slowly for one period; failures before its end do not count.

    A process starts within a second, and the usual period of a probe is ten: a user would wait for the
    second probe.
    """
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + timing.period, FIRST_PAUSE
    while (problem := await _look(probe, target, timing)) is not None:
        if loop.time() + pause >= end:
            break
        await asyncio.sleep(pause)
        pause *= 2
    return problem


async def attempt(action: Object, target: ProbeTarget, seconds: float) -> str | None:
    """Carry out a probe's or a hook's action; return what is wrong, or None."""
    try:
        async with asyncio.timeout(seconds):
            if "exec" in action:
                return await _run(action["exec"]["command"], target, seconds)
            if "tcpSocket" in action:
                return await _connect(action["tcpSocket"], target)
            return await _get(action["httpGet"], target)
    except TimeoutError:
        return f"no answer in {seconds:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return str(error) or type(error).__name__


async def _run(command: list[str], target: ProbeTarget, seconds: float) -> str | None:
    code, output = await run_to_end(target.command(command), seconds)
    return None if code == 0 else f"exit code {code}: {output}"


async def _connect(socket: Object, target: ProbeTarget) -> str | None:
    host = socket.get("host") or target.ip
    _, writer = await asyncio.open_connection(host, port_number(socket["port"], target.container))
    writer.close()
    return None


async def _get(get: Object, target: ProbeTarget) -> str | None:
    scheme = get.get("scheme", "HTTP").lower()
    host = get.get("host") or target.ip
    port = port_number(get["port"], target.container)
    url = f"{scheme}://{host}:{port}/{get.get('path', '/').removeprefix('/')}"
    headers = {header["name"]: header["value"] for header in get.get("httpHeaders", ())}
    # Like the kubelet's: whose certificate it is does not matter to a probe.
    request = target.http.get(url, headers=headers, ssl=False, allow_redirects=False)
    async with request as response:
        if 200 <= response.status < 400:
            return None
        return f"HTTP probe failed with statuscode: {response.status}"
