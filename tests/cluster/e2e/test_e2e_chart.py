"""The chart on a node, as docs/install.md has it: an install that proves itself, and a life with a campaign at work."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests import earlier
from tests.cluster.e2e.earlier_images import rebuilt
from tests.cluster.e2e.outside import Database
from tests.cluster.e2e.premises import Premises
from tests.cluster.e2e.release import NAME, SYSTEM, Release, images_as_values, merged
from tests.cluster.e2e.shop import Shop, campaign, config_map, keyed, readers
from tests.cluster.reach import Cluster
from tools.chart.__main__ import CHART
from tools.cluster import product_images

from sendonce_store.migrate import newest

Object = dict[str, Any]
# workers have the name of their campaign there
OURS = ["-l", f"app.kubernetes.io/instance={NAME}"]
PEOPLE = 4000
# As slow as it must be to be in the middle for as long as all of this may take; at the end it is let go.
SLOW = [{"messages": 4, "periodSeconds": 1, "burst": 4}]
SOME = 12
FAST = [{"messages": 5000, "periodSeconds": 1, "burst": 5000}]
WORKERS = {"max": 1, "concurrency": 64, "terminationGracePeriodSeconds": 20}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the packages of the version before."""
    return earlier.unpack(tmp_path_factory.mktemp("earlier"))


@pytest.fixture(scope="module")
def before(node: Cluster, images: dict[str, str], packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Object:
    """Return the names of the images of the version before, which the node has."""
    folder, found = tmp_path_factory.mktemp("images"), {}
    for program in ("operator", "worker"):
        name = f"localhost/sendonce-{program}:{earlier.VERSION}"
        today = product_images.image(program).archive
        names = ("sendonce_store", f"sendonce_{program}")
        node.load(rebuilt(today, name, packages, names, folder / f"{program}.tar"))
        found[program] = name
    return found


@pytest.fixture
def old_shop(
    release: Release, store: Database, packages: Path, premises: Premises, tmp_path: Path
) -> Iterator[OldShop]:
    """A namespace with a login of a store that the version before made; no release is there."""
    normal, database = release.dsn, f"before_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(store.here, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}".encode())
    release.remove("--no-hooks")
    release.dsn = make_conninfo(store.in_pods, dbname=database)
    release.furnish()
    with premises.shop(tmp_path, tenant=False) as shop:
        made = earlier.store(packages, make_conninfo(store.here, dbname=database), shop.namespace)
        login = make_conninfo(store.address, dbname=database, user=made["role"], password=made["password"])
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sendonce-store"}}
        shop.kubectl("apply", "-f-", stdin=json.dumps({**secret, "stringData": {"dsn": login}}))
        yield OldShop(shop, made["schema"])
    release.remove("--no-hooks")
    release.dsn = normal


@pytest.fixture
def chart_before(release: Release, tmp_path: Path) -> Path:
    """The chart as a package of the version before, with the CRDs of that."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    earlier.unpack(chart / "files", "crds", keep="crds/")
    done = release.helm("package", str(chart), f"--version={earlier.VERSION}", f"--destination={tmp_path}")
    assert done.returncode == 0, done.stderr
    return tmp_path / f"sendonce-{earlier.VERSION}.tgz"


@dataclass(frozen=True)
class OldShop:
    """A shop, and the version of the schema that its store began with."""

    shop: Shop
    schema: int


def begin(shop: Shop) -> None:
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    shop.apply(keyed(shop.far_end, limits=SLOW), people, campaign("spring", workers=WORKERS))
    shop.until_received(SOME)


def until_sent_by(shop: Shop, image: str) -> None:
    """Wait until the workers that there are have an image, and send."""

    def runs() -> bool:
        pods = json.loads(shop.kubectl("get", "pods", "-l", "sendonce.dev/campaign", "-o", "json"))["items"]
        images = {pod["spec"]["containers"][0]["image"] for pod in pods}
        return images == {image} and any(pod.ready for pod in shop.pods())

    shop.until(runs, f"workers are of {image}")
    assert_goes_on(shop)


def assert_goes_on(shop: Shop) -> None:
    """More arrives, and not everything has."""
    shop.until_received(shop.far_end.received() + SOME)
    assert shop.far_end.received() < PEOPLE


def test_an_install_with_nothing_but_a_database_secret_is_proved_by_helm_test(
    product: Cluster, release: Release
) -> None:
    done = release.helm("test", NAME, "--timeout=200s")
    assert done.returncode == 0, done.stdout + done.stderr + release.shown()
    assert "200 people, each accepted once by the far end's own ledger: 0 lost, 0 twice" in done.stderr + done.stdout
    left = product.kubectl("-n", SYSTEM, "get", "nc,np,pods,configmaps,serviceaccounts,roles", "-o", "name").split()
    assert not [name for name in left if "test" in name]


def assert_rolled_back(shop: Shop, before: Object, schema: int) -> None:
    """The programs of before are at work; where the schema is newer than they know, they say so and stand aside."""
    if schema == newest():
        until_sent_by(shop, before["worker"])
        return

    def is_told() -> bool:
        conditions = shop.get("nc", "spring")["status"]["conditions"]
        ready = next(one for one in conditions if one["type"] == "Ready")
        return ready["reason"] == "StoreUnavailable" and "upgrade this program" in ready["message"]

    shop.until(is_told, "the operator of before refuses the newer schema")
    assert_goes_on(shop)


@pytest.mark.timeout(900)
def test_an_upgrade_a_rollback_and_an_uninstall_in_the_middle_lose_and_repeat_nothing(
    release: Release, before: Object, images: dict[str, str], chart_before: Path, old_shop: OldShop
) -> None:
    shop = old_shop.shop
    old = {**images_as_values(before), "migrations": {"enabled": False}}
    done = release.put(merged(release.values, old), chart_before)
    assert done.returncode == 0, done.stderr + release.shown()
    begin(shop)
    until_sent_by(shop, before["worker"])
    # --- upgrade
    done = release.put()
    assert done.returncode == 0, done.stderr + release.shown()
    until_sent_by(shop, images["worker"])
    # --- rollback
    done = release.roll_back()
    assert done.returncode == 0, done.stderr + release.shown()
    assert_rolled_back(shop, before, old_shop.schema)
    # --- forward again
    done = release.put()
    assert done.returncode == 0, done.stderr + release.shown()
    until_sent_by(shop, images["worker"])
    # --- an uninstall that is refused changes nothing
    done = release.remove()
    assert done.returncode != 0
    assert f"uninstall.policy Refuse: 1 campaign is not finished: {shop.namespace}/spring" in done.stderr
    assert release.cluster.kubectl("-n", SYSTEM, "get", "deploy", "-o", "jsonpath={..readyReplicas}") == "1"
    assert_goes_on(shop)
    # --- one that leaves the campaign to its workers
    release.cluster.kubectl("-n", SYSTEM, "annotate", f"deployment/{NAME}-operator", "sendonce.dev/uninstall=Leave")
    done = release.remove()
    assert done.returncode == 0, done.stdout + done.stderr + release.shown()
    said = done.stdout + done.stderr
    assert "What stays behind:" in said
    assert "1 campaign (1 not finished: workers go on)" in said
    assert "notificationcampaigns.sendonce.dev" in said
    assert shop.get("nc", "spring")["metadata"].get("finalizers", []) == []
    assert_goes_on(shop)
    # --- an install goes on where the other ended
    release.ensure()
    assert_goes_on(shop)
    shop.apply(keyed(shop.far_end, limits=FAST))
    deliveries = shop.until_complete("spring")["status"]["deliveries"]
    shop.assert_each_got_one(PEOPLE)
    assert deliveries["sent"] == deliveries["total"] == PEOPLE


def test_a_database_that_cannot_be_reached_is_told_and_nothing_is_installed(release: Release) -> None:
    release.remove("--no-hooks")
    release.furnish("postgresql://owner:secret@127.0.0.1:9/sendonce?connect_timeout=2")
    done = release.put({"migrations": {"backoffLimit": 0}})
    assert done.returncode != 0
    assert "database sendonce at 127.0.0.1:9 can't be used" in done.stderr
    assert "secret" not in done.stderr.replace("Secret", "")
    # those of the release that was taken away may still be ending
    release.cluster.kubectl("-n", SYSTEM, "wait", "--for=delete", "pods", *OURS, "--timeout=90s")
    there = release.cluster.kubectl("-n", SYSTEM, "get", "deploy,jobs,pods,serviceaccounts", *OURS, "-o", "name")
    assert there == ""
    assert (
        release.cluster.kubectl("get", "clusterroles", "-l", "app.kubernetes.io/part-of=sendonce", "-o", "name") == ""
    )
