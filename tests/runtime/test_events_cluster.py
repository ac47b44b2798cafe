"""Events as kubectl shows them, from the real API server."""

import asyncio
import json
from typing import Any

import pytest

from local_cluster.cluster import Cluster
from shared_api.runtime.recording.event_objects import Regarding, Reporter
from shared_api.runtime.recording.recorder import EventLimits, Recorder
from shared_api.runtime.telemetry.metrics import Telemetry
from tests.runtime.cluster_kit import client_of

pytestmark = pytest.mark.cluster


def listed(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    text = cluster.kubectl(
        "get", "events.v1.events.k8s.io", f"--namespace={namespace}", "--output=json"
    ).stdout
    items: list[dict[str, Any]] = json.loads(text)["items"]
    return items


async def test_an_event_and_its_series_are_accepted_and_shown(
    cluster: Cluster, namespace: str
) -> None:
    cluster.kubectl("create", "configmap", "x", f"--namespace={namespace}")
    uid = cluster.kubectl(
        "get", "configmap/x", f"--namespace={namespace}", "--output=jsonpath={.metadata.uid}"
    ).stdout
    regarding = Regarding("v1", "ConfigMap", namespace, "x", uid)
    telemetry = Telemetry()
    async with client_of(cluster.kubeconfig) as client:
        recorder = Recorder(
            client, Reporter("podgang/toy", "toy-0"), telemetry, limits=EventLimits(refresh=0.0)
        )
        recorder.record(regarding, "Waiting", "2 of 8 pods fit", type_="Warning")
        async with asyncio.timeout(20):
            await recorder.flush()
        (event,) = listed(cluster, namespace)
        assert "series" not in event
        for _ in range(4):
            recorder.record(regarding, "Waiting", "2 of 8 pods fit", type_="Warning")
        async with asyncio.timeout(20):
            await recorder.flush()
    (event,) = listed(cluster, namespace)
    assert event["series"]["count"] == 5
    assert event["reason"] == "Waiting"
    shown = cluster.kubectl("describe", "configmap/x", f"--namespace={namespace}").stdout
    assert "2 of 8 pods fit" in shown
    counted = telemetry.registry.get_sample_value("events_recorded_total", {"result": "sent"})
    assert counted == 2
