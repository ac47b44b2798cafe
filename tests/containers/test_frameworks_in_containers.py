"""The samples of frameworks are admitted as they are, and run with a small program in the image's place.

The program gets the arguments of the sample, as the kubelet expands them. It resolves every address in
them. The nodes of one server or training meet at the address and port that the arguments name, and only then does
the program serve the port of its probes, or end as training does. So probes, start-up order and completion are real.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from local_cluster.cluster import Cluster
from local_cluster.container_node.product_image import image_name
from local_cluster.pytest_plugin import fresh_namespace
from tests.containers.kit import PATIENCE, ROOT, Object, apply, first_line, pods, until_ready

pytestmark = [pytest.mark.cluster, pytest.mark.matrix, pytest.mark.timeout(900)]

_SAMPLES = sorted((ROOT / "docs" / "samples" / "frameworks").glob("*.yaml"))
_STAND_IN = r"""
import http.server, json, os, re, signal, socket, sys, time

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
given = " ".join(sys.argv[1:])
found = {}
for name in re.findall(r"[a-z0-9-]+\.[a-z0-9-]+\.[a-z0-9-]+\.svc\.cluster\.local", given):
    while name not in found:
        try:
            found[name] = socket.gethostbyname(name)
        except OSError:
            time.sleep(0.1)


def option(names):
    match = re.search(rf"--(?:{names})=(\S+)", given)
    return match and match[1]


def meet(nodes, rank, host, port):
    if rank > 0:
        while True:
            try:
                with socket.create_connection((host, port)) as first:
                    first.sendall(b"%d\n" % rank)
                    return json.loads(first.makefile().readline())
            except OSError:
                time.sleep(0.1)
    listener = socket.create_server(("", port))
    others = [listener.accept()[0] for _ in range(nodes - 1)]
    ranks = sorted([0, *(int(other.makefile().readline()) for other in others)])
    for other in others:
        other.sendall(json.dumps(ranks).encode() + b"\n")
    return ranks


ranks = []
if nodes := option("nnodes"):
    host, _, port = (option("dist-init-addr") or "").partition(":")
    where = host or option("master-addr"), int(port or option("master-port"))
    ranks = meet(int(nodes), int(option("node-rank")), *where)
print(json.dumps({"arguments": given, "found": found, "ranks": ranks}), flush=True)
if sys.argv[1] == "torchrun":
    sys.exit()


class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


if port := option("port|http-port"):
    http.server.HTTPServer(("", int(port)), Healthy).serve_forever()
while True:
    signal.pause()
"""


@pytest.fixture
def space(product: Cluster) -> Iterator[str]:
    """A namespace that permits every pod: images of frameworks run as root."""
    with fresh_namespace(product) as name:
        yield name


def _stand_in(sample: Object) -> Object:
    for clique in sample["spec"]["template"]["cliques"]:
        clique["spec"]["podSpec"]["terminationGracePeriodSeconds"] = 1
        for container in clique["spec"]["podSpec"]["containers"]:
            container["image"] = image_name()
            container["command"] = ["python", "-c", _STAND_IN, *container["command"]]
            # The node has two CPUs and no GPU.
            container["resources"] = {"requests": {"cpu": "5m"}}
    return sample


@pytest.mark.parametrize("file", _SAMPLES, ids=lambda file: file.stem)
def test_a_sample_is_admitted_runs_and_finds_its_addresses(
    product: Cluster, space: str, file: Path
) -> None:
    product.kubectl("apply", f"-n{space}", "--dry-run=server", "-f", str(file))
    # Through JSON, since an alias of the file is one object in memory.
    sample = _stand_in(json.loads(json.dumps(yaml.safe_load(file.read_text()))))
    name = sample["metadata"]["name"]
    cliques = sample["spec"]["template"]["cliques"]
    ends = all(one["spec"]["podSpec"].get("restartPolicy") == "Never" for one in cliques)
    apply(product, space, sample)
    until_ready(product, space, name, condition="Completed" if ends else "Ready")
    if not ends:
        # The set is ready with its minimum; here the others fit too.
        timeout = f"--timeout={PATIENCE:.0f}s"
        product.kubectl("wait", f"-n{space}", "pods", "--all", "--for=condition=Ready", timeout)
    running = pods(product, space)
    addresses = {pod["status"]["podIP"] for pod in running}
    told = [json.loads(first_line(product, space, pod)) for pod in running]
    assert all("$(" not in one["arguments"] for one in told), told
    assert {address for one in told for address in one["found"].values()} <= addresses
    asked = len(re.findall(r"\.\$\(GROVE_HEADLESS_SERVICE\)", file.read_text()))
    assert not asked or any(one["found"] for one in told)
    for one in told:
        nodes = re.search(r"--nnodes=(\d+)", one["arguments"])
        assert one["ranks"] == list(range(int(nodes[1]) if nodes else 0)), one
