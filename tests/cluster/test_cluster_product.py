"""The chart in a cluster of one's own: its values, and images that are made of a layer on another."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.chart.rendering import environment, named, rendered
from tools.cluster import postgres_image
from tools.cluster.images import add_layer, write_archive
from tools.cluster.product import command, values

pytestmark = pytest.mark.wiring
IMAGES = {program: f"localhost/sendonce-{program}:{program}1" for program in ("operator", "worker", "cli")}


def test_the_values_name_the_images_that_were_loaded() -> None:
    objects = rendered(values(IMAGES, "abc"))
    assert environment(objects)["SENDONCE_WORKER_IMAGE"] == IMAGES["worker"]
    pod = named(objects, "StatefulSet", "sendonce-postgresql")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == f"{postgres_image.REPOSITORY}:abc"
    assert pod["securityContext"]["runAsUser"] == postgres_image.USER


def test_a_node_without_storage_classes_needs_no_volume_and_kind_gets_the_official_image() -> None:
    own = named(rendered(values(IMAGES, "abc")), "StatefulSet", "sendonce-postgresql")["spec"]
    assert "volumeClaimTemplates" not in own
    kind = named(rendered(values(IMAGES, None)), "StatefulSet", "sendonce-postgresql")["spec"]
    assert kind["template"]["spec"]["containers"][0]["image"] == "postgres:17-bookworm"
    assert len(kind["volumeClaimTemplates"]) == 1


def test_helm_is_told_the_one_cluster_and_waits() -> None:
    given = command("sendonce-local")
    assert given[1:4] == ["upgrade", "--install", "sendonce"]
    assert {"--kube-context=sendonce-local", "--namespace=sendonce-system", "--wait", "--values=-"} <= set(given)


def layer(name: str, text: str) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def read(archive: Path) -> tuple[dict[str, Any], dict[str, Any], list[bytes]]:
    """Manifest, configuration and layers of an archive."""
    with tarfile.open(archive) as source:
        files = {name: source.extractfile(name) for name in source.getnames()}
        content = {name: file.read() for name, file in files.items() if file is not None}
    (manifest,) = json.loads(content["manifest.json"])
    return manifest, json.loads(content[manifest["Config"]]), [content[name] for name in manifest["Layers"]]


def test_a_layer_lies_over_the_image_and_is_named_by_its_digest(tmp_path: Path) -> None:
    below, above = layer("a", "below"), layer("b", "above")
    with (tmp_path / "base.tar").open("wb") as target:
        write_archive(target, "base:1", io.BytesIO(below), {"User": "1", "Env": ["A=b"]})
    add_layer(tmp_path / "base.tar", tmp_path / "new.tar", "new:2", above, {"User": "2"})
    manifest, config, layers = read(tmp_path / "new.tar")
    assert manifest["RepoTags"] == ["new:2"]
    assert layers == [below, above]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in layers]
    assert len(config["history"]) == 2
    assert config["config"] == {"User": "2", "Env": ["A=b"]}
