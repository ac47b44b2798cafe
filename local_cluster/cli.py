"""`python -m local_cluster`: start, use and stop clusters on this machine.

Every failure that the user can fix is one line on standard error and exit code 1.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from local_cluster.bench import run_bench
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import BUILDS, build_of
from local_cluster.cluster import Cluster, ClusterOptions, all_clusters
from local_cluster.container_node.node import Images
from local_cluster.container_node.product_image import image_name, product_image
from local_cluster.demo.installation import repository
from local_cluster.demo.run import run_demo
from local_cluster.errors import ClusterError
from local_cluster.lifecycle import down, up
from local_cluster.process_logs import show_log
from local_cluster.schedulers import EXTRA_SCHEDULERS
from local_cluster.status import print_status
from local_cluster.versions import DEFAULT_MINOR, MINORS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = _parser().parse_args(_separated(given))
        code: int = options.run(options)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.details:
            print(error.details, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _separated(given: list[str]) -> list[str]:
    """Separate kubectl's options, such as `-n`, from ours."""
    if given[:1] != ["kubectl"]:
        return given
    first = given[1] if len(given) > 1 else ""
    ours = 3 if first == "--name" else 1 + (first == "--help" or first.startswith("--name="))
    return [*given[:ours], "--", *given[ours:]]


def _up(options: argparse.Namespace) -> int:
    cluster = up(
        ClusterOptions(
            kubernetes=options.kubernetes,
            nodes=(0 if options.containers else 8) if options.nodes is None else options.nodes,
            containers=options.containers,
            process_node=not options.containers,
            schedulers=tuple(options.scheduler),
            gang_scheduling=not options.no_gang_scheduling,
            api_port=options.port,
            context=options.context or os.environ.get("CLUSTER_CONTEXT"),
            yes_this_cluster=options.yes_this_cluster,
        ),
        name=options.name,
    )
    named = "" if options.name == "default" else f" --name {options.name}"
    print(f"kubeconfig: {cluster.kubeconfig}")
    print(f"look:       python -m local_cluster kubectl{named} get nodes")
    print(f"stop:       python -m local_cluster down{named}")
    return 0


def _down(options: argparse.Namespace) -> int:
    for cluster in all_clusters() if options.all else [Cluster(options.name)]:
        known = down(cluster)
        print(f"cluster {cluster.name!r} is down" if known else f"no cluster {cluster.name!r}")
    return 0


def _status(_: argparse.Namespace) -> int:
    return print_status(all_clusters())


def _kubectl(options: argparse.Namespace) -> int:
    cluster = Cluster(options.name)
    program = cluster.kubectl_program()
    if not cluster.running():
        raise ClusterError(
            f"cluster {cluster.name!r} is not running", "Start it with: python -m local_cluster up"
        )
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    sys.stdout.flush()
    given = options.arguments[1:]  # without the separator
    os.execve(program, [program, *given], environment)  # noqa: S606 - becomes kubectl


def _logs(options: argparse.Namespace) -> int:
    return show_log(Cluster(options.name), options.pod, namespace=options.namespace)


def _build(options: argparse.Namespace) -> int:
    usual = (name for name, build in BUILDS.items() if not build.on_demand)
    for name in options.builds or usual:
        print(f"{name}: {ensure_built(build_of(name), again=options.again)}")
    return 0


def _image(options: argparse.Namespace) -> int:
    archive = product_image(repository(), print)
    if options.load:
        images = Images(Cluster(options.load).directory)
        images.load(archive)
        if options.tag:
            images.tag(image_name(), options.tag)
    print(f"{image_name()}: {archive}")
    return 0


def _load(options: argparse.Namespace) -> int:
    Images(Cluster(options.name).directory).load(options.archive)
    return 0


def _demo(options: argparse.Namespace) -> int:
    return run_demo(options.kubernetes, stay=not options.once, in_containers=options.containers)


def _bench(options: argparse.Namespace) -> int:
    return run_bench(options.kubernetes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local_cluster", description=__doc__)
    parser.add_argument("--version", action="version", version=metadata.version("podgang"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    start = _command(commands, "up", _up, "start a cluster and return when it is ready")
    start.add_argument("--kubernetes", default=DEFAULT_MINOR, metavar="MINOR", help=_minors())
    start.add_argument(
        "--nodes",
        type=_count,
        help="simulated workload nodes (8; with --containers none)",
    )
    start.add_argument(
        "--containers",
        action="store_true",
        help="run a node with containerd and a kubelet, instead of simulated ones (root, on Debian)",
    )
    start.add_argument(
        "--scheduler", action="append", default=[], metavar="NAME", help=_schedulers()
    )
    start.add_argument(
        "--no-gang-scheduling",
        action="store_true",
        help="turn the feature gates of gang scheduling off",
    )
    start.add_argument(
        "--port", type=int, default=0, help="port of the API server (default: a free one)"
    )
    start.add_argument(
        "--context", help="use this context of your kubeconfig instead of a new control plane"
    )
    start.add_argument(
        "--yes-this-cluster",
        action="store_true",
        help="use the context even if it looks like production",
    )

    stop = _command(commands, "down", _down, "stop a cluster and remove its files")
    stop.add_argument("--all", action="store_true", help="stop every cluster of this user")
    _command(commands, "status", _status, "show the clusters and their processes", named=False)

    kubectl = _command(commands, "kubectl", _kubectl, "run kubectl on the cluster", named=False)
    kubectl.add_argument(
        "--name", default="default", help="name of the cluster; give it before kubectl's arguments"
    )
    kubectl.add_argument("arguments", nargs=argparse.REMAINDER)

    logs = _command(commands, "logs", _logs, "show the output of a pod on the process node")
    logs.add_argument("pod", help="name of the pod, or a prefix of it")
    logs.add_argument("--namespace", "-n", help="namespace of the pod")

    build = _command(commands, "build", _build, "build programs without starting them", named=False)
    build.add_argument("--again", action="store_true", help="ignore the cache")
    build.add_argument("builds", nargs="*", metavar="BUILD", help=_builds())

    image = _command(commands, "image", _image, "build the product's image", named=False)
    image.add_argument(
        "--load", metavar="NAME", help="load it into the container node of a cluster"
    )
    image.add_argument("--tag", metavar="IMAGE", help="load it under this name too")
    load = _command(commands, "load", _load, "load an image archive into the container node")
    load.add_argument("archive", type=Path, help="file of `docker save`")

    demo = _command(
        commands, "demo", _demo, "start a cluster with the product and run gangs on it", named=False
    )
    demo.add_argument("--kubernetes", default=DEFAULT_MINOR, metavar="MINOR", help=_minors())
    demo.add_argument(
        "--once", action="store_true", help="stop at the end instead of waiting for Ctrl-C"
    )

    demo.add_argument(
        "--containers", action="store_true", help="in real containers (root, on Debian)"
    )

    bench = _command(
        commands, "bench", _bench, "measure the throughput of the control plane", named=False
    )
    bench.add_argument("--kubernetes", default=DEFAULT_MINOR, metavar="MINOR", help=_minors())
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    purpose: str,
    *,
    named: bool = True,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=purpose, description=purpose)
    command.set_defaults(run=run)
    if named:
        command.add_argument(
            "--name", default="default", help="name of the cluster (default: default)"
        )
    return command


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 5000:
        raise argparse.ArgumentTypeError("must be between 0 and 5000")
    return number


def _minors() -> str:
    return f"{', '.join(MINORS)} ({DEFAULT_MINOR})"


def _builds() -> str:
    on_demand = ", ".join(name for name, build in BUILDS.items() if build.on_demand)
    return f"{', '.join(BUILDS)} (all but {on_demand})"


def _schedulers() -> str:
    return f"also run {', '.join(EXTRA_SCHEDULERS)}; may be repeated"
