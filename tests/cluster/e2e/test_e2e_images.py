"""What is in the product's images, and how what they run starts and ends, as Pods that are restricted as can be."""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from packaging.requirements import Requirement
from tests.cluster.e2e.outside import Database
from tests.cluster.e2e.shop import Shop, campaign, config_map, keyed, readers
from tests.cluster.manifests import as_list, namespace
from tests.cluster.reach import Cluster
from tools.cluster.product_images import PACKAGES, PROGRAMS, image
from tools.cluster.waiting import until

ROOT = Path(__file__).resolve().parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
PROBE = (Path(__file__).parent / "probe.py").read_text("utf-8")
SUCCEEDED = "--for=jsonpath={.status.phase}=Succeeded"
TERMINATE = "import os, signal; os.kill(1, signal.SIGTERM)"
# How old the first process is, what it has taken of a processor, and what time it is; in seconds
AGE = """
import os, time
with open("/proc/1/stat") as stat, open("/proc/uptime") as uptime:
    fields = stat.read().rpartition(")")[2].split()
    user, system, started = (float(fields[number]) / os.sysconf("SC_CLK_TCK") for number in (11, 12, 19))
    print(float(uptime.read().split()[0]) - started, user + system, time.time())
"""

Object = dict[str, Any]


def config(program: str) -> Object:
    """How an image says that it is started."""
    with tarfile.open(image(program).archive) as archive:

        def read(name: str) -> Any:
            member = archive.extractfile(name)
            assert member is not None
            return json.load(member)

        found: Object = read(read("manifest.json")[0]["Config"])["config"]
        return found


def pod(program: str, names: Mapping[str, str], **container: Any) -> Object:
    """A Pod that runs an image, with nothing that it could write to but /data."""
    restricted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    main = {
        "name": "main",
        "image": names[program],
        "imagePullPolicy": "IfNotPresent",
        "securityContext": restricted,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        **container,
    }
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [main],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": program}, "spec": spec}


@pytest.fixture(scope="module")
def space(node: Cluster) -> Iterator[str]:
    name = f"images-{uuid.uuid4().hex[:8]}"
    node.kubectl("apply", "-f-", stdin=as_list(namespace(name)))
    yield name
    node.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def probed(node: Cluster, images: dict[str, str], space: str) -> dict[str, Object]:
    """What each image's own Python found in it. Beside the probes, two Pods run the command."""
    command = ["python", "-P", "-c", PROBE]
    probes = [pod(one, images, command=command) for one in PROGRAMS]
    arguments = ["simulate", "--ledger", "/data/ledger.ndjson", "--host", "127.0.0.1"]
    simulator = pod("cli", images, args=arguments) | {"metadata": {"name": "simulate"}}
    version = pod("cli", images, args=["--version"]) | {"metadata": {"name": "version"}}
    node.kubectl("-n", space, "apply", "-f-", stdin=as_list(*probes, simulator, version))
    for program in PROGRAMS:
        node.kubectl("-n", space, "wait", f"pod/{program}", SUCCEEDED, "--timeout=280s")
    return {program: json.loads(node.kubectl("-n", space, "logs", program)) for program in PROGRAMS}


def locked(program: str) -> set[str]:
    """The distributions that a lock file names for this platform."""
    lines = (ROOT / "requirements" / f"{program}.txt").read_text("utf-8").splitlines()
    named = [Requirement(line.removesuffix("\\")) for line in lines if re.match("[a-z0-9]", line)]
    return {one.name for one in named if one.marker is None or one.marker.evaluate({"python_version": "3.11"})}


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_holds_what_its_lock_file_names_and_its_own_code(probed: dict[str, Object], program: str) -> None:
    found = probed[program]
    assert set(found["distributions"]) - {"sendonce"} == locked(program)
    assert found["ours"] == sorted(f"sendonce_{package}" for package in PACKAGES[program])
    assert found["modules"] > 30, "all of its modules could be imported with these packages alone"


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_has_no_compiler_and_nothing_that_installs(probed: dict[str, Object], program: str) -> None:
    assert probed[program]["programs"] == []
    assert probed[program]["installers"] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_runs_as_nobody_with_nothing_to_write_to(probed: dict[str, Object], program: str) -> None:
    assert probed[program]["user"] == 65532
    assert probed[program]["refused"] == ["EROFS"] * 4


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("program", PROGRAMS)
def test_python_is_what_starts_and_labels_say_what_it_is(program: str) -> None:
    said = config(program)
    assert said["User"] == "65532:65532"
    python = ["python", "-P", "-m", f"sendonce_{program}"]
    assert said["Entrypoint"] == ["env", "--block-signal=TERM", *python], "no shell between it and a signal"
    labels = {name.removeprefix("org.opencontainers.image."): words for name, words in said["Labels"].items()}
    assert labels["title"] == f"sendonce-{program}"
    assert labels["licenses"] == "Apache-2.0"
    assert labels["version"] == VERSION
    assert labels["revision"] == image(program).revision
    assert labels["description"]


@pytest.mark.usefixtures("probed")
def test_the_command_runs_in_its_image_and_ends_with_0_when_told_to(node: Cluster, space: str) -> None:
    listening = lambda: '"http":' in node.kubectl("-n", space, "logs", "simulate", check=False)  # noqa: E731
    until(listening, "the simulator listens", seconds=60)
    node.kubectl("-n", space, "exec", "simulate", "--", "python", "-c", TERMINATE)
    for name in ("simulate", "version"):
        node.kubectl("-n", space, "wait", f"pod/{name}", SUCCEEDED, "--timeout=60s")
    assert node.kubectl("-n", space, "logs", "version") == f"sendonce, version {VERSION}\n"


def first_claim(store: Database, space: str) -> float:
    """When a batch of the namespace was claimed for the first time, in seconds since 1970."""
    query = "SELECT extract(epoch FROM min(leased_at)) FROM sendonce.batches WHERE namespace = %s"
    with psycopg.connect(store.here) as connection:
        row = connection.execute(query, (space,)).fetchone()
    assert row is not None
    return float(row[0])


def test_a_worker_claims_soon_after_its_start_and_ends_with_0_when_told_to(shop: Shop, store: Database) -> None:
    # for as long as two waits
    shop.far_end.order(latency=2)
    people = config_map("readers", **{"readers.csv": readers(600)})
    workers = {"max": 1, "concurrency": 4}
    shop.apply(keyed(shop.far_end), people, campaign("spring", workers=workers))
    shop.until_received(1)
    (worker,) = shop.pods()
    age, worked, now = map(float, shop.kubectl("exec", worker.name, "--", "python", "-c", AGE).split())
    waited = first_claim(store, shop.namespace) - (now - age)
    assert waited > 0
    # Where the machine has other things to do, what it took of a processor says what it would have been.
    assert min(waited, worked) < 2, f"{waited:.2f} s, with {worked:.2f} s of a processor"
    shop.kubectl("exec", worker.name, "--", "python", "-c", TERMINATE)
    shop.until(lambda: any(0 in pod.ended for pod in shop.pods()), "it has ended with 0")


def test_the_operator_ends_with_0_when_told_to(product: Cluster) -> None:
    def status() -> Object:
        found = json.loads(product.kubectl("-n", "sendonce-system", "get", name, "-o", "json"))
        container: Object = found["status"]["containerStatuses"][0]
        return container

    product.kubectl("-n", "sendonce-system", "rollout", "status", "deployment/sendonce-operator", "--timeout=120s")
    deployment = product.kubectl("-n", "sendonce-system", "get", "deployment", "sendonce-operator", "-o", "json")
    labels = json.loads(deployment)["spec"]["selector"]["matchLabels"]
    chosen = ",".join(f"{label}={value}" for label, value in labels.items())
    (name,) = product.kubectl("-n", "sendonce-system", "get", "pods", "-l", chosen, "-o", "name").split()
    before = status()["restartCount"]
    product.kubectl("-n", "sendonce-system", "exec", name, "--", "python", "-c", TERMINATE)
    until(lambda: status()["restartCount"] > before, "the operator was started anew", seconds=90)
    assert status()["lastState"]["terminated"]["exitCode"] == 0
    product.kubectl("-n", "sendonce-system", "rollout", "status", "deployment/sendonce-operator", "--timeout=120s")
