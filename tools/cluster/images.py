"""Images without an engine.

In: a folder's or program's files as a layer, or an archive that somebody built. Out: an archive as `docker save` writes
it (image-spec of the OCI describes the same configuration), and images that the node's containerd knows.
"""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path
from typing import IO, Any

from tools.cluster import sandbox
from tools.cluster.errors import ClusterError
from tools.cluster.node import CONTAINERD_SOCKET, PAUSE_IMAGE
from tools.cluster.processes import Process, environment

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_BLOCK = 1 << 20


def _digest(layer: IO[bytes]) -> str:
    summed = hashlib.sha256()
    while block := layer.read(_BLOCK):
        summed.update(block)
    layer.seek(0)
    return summed.hexdigest()


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = size
    archive.addfile(entry, content)


def _size(layer: IO[bytes]) -> int:
    size = layer.seek(0, io.SEEK_END)
    layer.seek(0)
    return size


def write_archive(target: IO[bytes], name: str, layer: IO[bytes], settings: dict[str, object]) -> None:
    """Write an image of one plain layer; `settings` are Env, Entrypoint, Cmd, User as in the OCI's image-spec."""
    digest = _digest(layer)
    config = {
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        # buildah builds on no image whose history does not have each of its layers
        "history": [{"created_by": "tools.cluster"}],
    }
    config_text = json.dumps(config).encode()
    config_name = f"{hashlib.sha256(config_text).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]).encode()
    with tarfile.open(fileobj=target, mode="w") as archive:
        _add(archive, config_name, io.BytesIO(config_text), len(config_text))
        _add(archive, f"{digest}.tar", layer, _size(layer))
        _add(archive, "manifest.json", io.BytesIO(manifest), len(manifest))


def _json(archive: tarfile.TarFile, name: str) -> Any:  # noqa: ANN401 - whatever the file says
    source = archive.extractfile(name)
    if source is None:
        raise ClusterError(f"this is no archive of an image: {name} is no file in it")
    return json.load(source)


def add_layer(image: Path, target: Path, name: str, layer: bytes, settings: dict[str, object] | None = None) -> None:
    """Write the archive of another image: a plain layer over one that is there, and perhaps other settings."""
    digest = hashlib.sha256(layer).hexdigest()
    with tarfile.open(image) as source, tarfile.open(target, mode="w") as archive:
        (manifest,) = _json(source, "manifest.json")
        config = _json(source, manifest["Config"])
        config["config"].update(settings or {})
        config["rootfs"]["diff_ids"].append(f"sha256:{digest}")
        config.setdefault("history", []).append({"created_by": "tools.cluster"})
        for path in manifest["Layers"]:
            archive.addfile(source.getmember(path), source.extractfile(path))
        text = json.dumps(config).encode()
        config_name, layers = f"{hashlib.sha256(text).hexdigest()}.json", [*manifest["Layers"], f"{digest}.tar"]
        last = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": layers}]).encode()
        for entry, content in ((config_name, text), (f"{digest}.tar", layer), ("manifest.json", last)):
            _add(archive, entry, io.BytesIO(content), len(content))


def pause_image(program: Path) -> bytes:
    """Return the image that holds a Pod's namespaces: one static program that only waits."""
    layer, archive = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as contents:
        entry = tarfile.TarInfo("catatonit")
        entry.size, entry.mode = program.stat().st_size, 0o755
        with program.open("rb") as source:
            contents.addfile(entry, source)
    layer.seek(0)
    write_archive(archive, PAUSE_IMAGE, layer, {"Entrypoint": ["/catatonit", "-P"], "User": "65535:65535"})
    return archive.getvalue()


def load(init: Process, state: Path, archive: Path) -> list[str]:
    """Give an archive to the node's containerd; return the lines that it printed, one per image."""
    if not archive.is_file():
        raise ClusterError(f"{archive}: there is no such archive; `buildah push IMAGE docker-archive:FILE` writes one")
    command = ["ctr", f"--address={CONTAINERD_SOCKET}", "--namespace=k8s.io", "images", "import", "-"]
    with archive.open("rb") as content:
        return sandbox.run(init, command, environment(state), content.fileno()).splitlines()
