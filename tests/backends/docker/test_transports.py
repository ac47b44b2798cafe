"""Engines over TLS and over SSH, through links that are cut: real dockerd and real OpenSSH."""

import contextlib
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backend_controllers.contract.remote.executor import ExecutorError
from backend_controllers.docker.executor import DockerExecutor
from backend_controllers.docker.options import DockerHost, DockerOptions, DockerSsh, DockerTls
from local_cluster.container_node.machine import require
from shared_api.models import RemoteMemberState
from tests.backends.docker.engines import PROGRAMS, TestEngine, missing
from tests.backends.docker.pods import remote_pod
from tests.backends.remote.far_side import (
    GANG,
    identities,
    log_of,
    order,
    process,
    until,
    until_hosts,
)
from tests.backends.ssh.hosts import PROGRAMS as SSH_PROGRAMS
from tests.backends.ssh.hosts import TestHost, make_key
from tests.backends.ssh.hosts import missing as no_sshd

if TYPE_CHECKING:
    from tests.backends.hosts.links import Link

pytestmark = [pytest.mark.cluster, pytest.mark.matrix]

RUNNING, UNKNOWN = RemoteMemberState.RUNNING, RemoteMemberState.UNKNOWN
EXITED = RemoteMemberState.EXITED
_PORT = 2376


class DistantEngine(TestEngine):
    """A dockerd on a host with a link, which serves TLS; an sshd beside it."""

    __test__ = False

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "far")
        self.sshd = TestHost(directory, "far-ssh", 9)
        self.link: Link = self.sshd.link
        self._namespace = self.link.namespace
        self.path = directory

    def command(self, where: Path) -> list[str]:
        tls = (f"--tls{name}={self.path}/{name}.pem" for name in ("cacert", "cert", "key"))
        address = f"tcp://{self.link.address}:{_PORT}"
        return [*super().command(where), "-H", address, "--tlsverify", *tls]


@pytest.fixture(scope="module")
def engine() -> Iterator[DistantEngine]:
    if problem := missing() or no_sshd():
        pytest.skip(problem)
    require(PROGRAMS | SSH_PROGRAMS, print)
    with tempfile.TemporaryDirectory(prefix="dk-", ignore_cleanup_errors=True) as directory:
        engine = DistantEngine(Path(directory))
        path = engine.path
        _certificates(path, engine.link.address)
        make_key(path / "id")
        pinned = engine.sshd.open(path / "id.pub", {"DOCKER_HOST": engine.url})
        (path / "known_hosts").write_text(pinned)
        try:
            engine.start()
            engine.load_image()
            yield engine
        finally:
            engine.end()
            engine.sshd.close()


@pytest.fixture(params=["tls", "ssh"])
def options(request: pytest.FixtureRequest, engine: DistantEngine) -> DockerOptions:
    path = engine.path
    address = engine.link.address
    if request.param == "tls":
        tls = DockerTls(
            ca_file=f"{path}/cacert.pem",
            cert_file=f"{path}/client-cert.pem",
            key_file=f"{path}/client-key.pem",
        )
        host = DockerHost(name="far", url=f"tcp://{address}:{_PORT}", address=address, tls=tls)
    else:
        ssh = DockerSsh(key_file=f"{path}/id", known_hosts_file=f"{path}/known_hosts")
        url = f"ssh://root@{address}:{engine.sshd.port}"
        host = DockerHost(name="far", url=url, address=address, ssh=ssh)
    return DockerOptions(
        hosts=(host,),
        cluster="contract",
        image_prefixes=("local/",),
        pull_images=False,
        probe_seconds=1.0,
    )


@contextlib.asynccontextmanager
async def released(options: DockerOptions, engine: DistantEngine) -> AsyncIterator[DockerExecutor]:
    executor = DockerExecutor(options, "docker")
    async with process(executor):
        yield executor
        await executor.release(executor.units(GANG))
    assert engine.containers() == {}


async def test_gang_runs_has_logs_and_survives_a_link_that_is_cut(
    options: DockerOptions, engine: DistantEngine
) -> None:
    async with released(options, engine) as executor:
        pods = (remote_pod("a", "echo far; exit 3", cpu="100m"), remote_pod("b", cpu="100m"))
        await executor.reserve(order(*pods))
        await executor.start(executor.units(GANG))
        await until(executor, lambda units: [u.state for u in units] == [EXITED, RUNNING])
        ended, _ = executor.units(GANG)
        assert ended.exit_code == 3
        assert await log_of(executor, ended) == b"far\n"
        before = identities(executor)
        with engine.link.cut():
            await until(executor, lambda units: {u.state for u in units} == {UNKNOWN})
            with pytest.raises(ExecutorError, match="0 of 1 hosts can be reached"):
                await executor.reserve(order(remote_pod("c"), gang="other"))
        await until_hosts(executor, reachable=True)
        await until(executor, lambda units: [u.state for u in units] == [EXITED, RUNNING])
        assert identities(executor) == before


async def test_server_that_is_not_pinned_is_refused(
    options: DockerOptions, engine: DistantEngine, tmp_path: Path
) -> None:
    (host,) = options.hosts
    if host.tls is not None:
        _certificates(tmp_path, "10.0.0.1")
        tls = host.tls.model_copy(update={"ca_file": f"{tmp_path}/cacert.pem"})
        wrong, problem = host.model_copy(update={"tls": tls}), "CERTIFICATE_VERIFY_FAILED"
    else:
        assert host.ssh is not None
        make_key(tmp_path / "other")
        known = tmp_path / "known_hosts"
        known.write_text(
            f"[{engine.link.address}]:{engine.sshd.port} {(tmp_path / 'other.pub').read_text()}"
        )
        ssh = host.ssh.model_copy(update={"known_hosts_file": str(known)})
        wrong, problem = host.model_copy(update={"ssh": ssh}), "not trusted"
    async with process(
        DockerExecutor(options.model_copy(update={"hosts": (wrong,)}), "docker")
    ) as executor:
        (offer,) = executor.hosts()
        assert problem in offer.problem


def _certificates(path: Path, address: str) -> None:
    """Make an authority, the certificate of a server, and that of a client."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=path)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "cacert.pem")
    for name, use in (("", "serverAuth"), ("client-", "clientAuth")):
        (path / "extensions").write_text(f"subjectAltName=IP:{address}\nextendedKeyUsage={use}\n")
        request = ("-keyout", f"{name}key.pem", "-out", "request.pem")
        openssl("req", *new, "-subj", "/CN=engine", *request)
        signing = ("-CA", "cacert.pem", "-CAkey", "ca.key", "-extfile", "extensions")
        openssl("x509", "-req", "-in", "request.pem", *signing, "-out", f"{name}cert.pem")
