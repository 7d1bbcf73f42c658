"""krew's manifest: version, address and digest of the archive in, YAML out, checked against krew's rules.

The rules are those of krew's `internal/index/validation` and of its guide for plugin authors.
"""

import hashlib
import re
from typing import Any

import yaml
from tools.plugin.archive import NAME

API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
PLUGIN = "campaign"
SHORT = "Watch notification campaigns, and decide about them"
DESCRIPTION = """\
Looks at Sendonce's notification campaigns and decides about them: status, recipients, dead letters, retry, resolve,
promote, suspend, resume, cancel, a preview of a campaign's file, and the proof of a finished one.

Campaigns and orders go through the API server, under your own rights. What is about single people comes from
Sendonce's console, with your own token.
"""
CAVEATS = """\
This plugin needs Python 3.11 or newer as python3, and Sendonce in the cluster.
Completion: `kubectl campaign completion --write FOLDER`, a folder of your PATH.
"""
# krew takes the first that fits; the program is the same everywhere
SYSTEMS = (("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64"))
_NAME = re.compile(r"[a-z0-9][\w-]*")
_VERSION = re.compile(r"v\d+\.\d+\.\d+(-[\w.]+)?")
_SHORT = re.compile(r"[^\n]{4,59}[^\n.]")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def manifest(version: str, address: str, archive: bytes, homepage: str) -> dict[str, Any]:
    """Return the manifest. Raises ValueError for one that krew would refuse."""
    digest = sha256(archive)
    platforms = [
        {
            "selector": {"matchLabels": {"os": system, "arch": machine}},
            "uri": address,
            "sha256": digest,
            "bin": NAME,
        }
        for system, machine in SYSTEMS
    ]
    found = {
        "apiVersion": API_VERSION,
        "kind": "Plugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "version": f"v{version}",
            "homepage": homepage,
            "shortDescription": SHORT,
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": platforms,
        },
    }
    if problems := complaints(found):
        raise ValueError("; ".join(problems))
    return found


def sha256(archive: bytes) -> str:
    """Return the digest by which krew knows an archive."""
    return hashlib.sha256(archive).hexdigest()


def text(found: dict[str, Any]) -> str:
    """Return it as YAML."""
    written: str = yaml.safe_dump(found, sort_keys=False, width=1000, default_style=None)
    return written


def complaints(found: dict[str, Any]) -> list[str]:
    """Return what krew, or a reviewer of its index, would refuse."""
    spec, name = found["spec"], found["metadata"]["name"]
    checks: dict[str, object] = {
        f"metadata.name: {name!r} is no name": _NAME.fullmatch(name),
        f"spec.version: {spec['version']!r} is no vMAJOR.MINOR.PATCH": _VERSION.fullmatch(spec["version"]),
        "spec.shortDescription: must have 5 to 60 characters, and no full stop": _SHORT.fullmatch(
            spec["shortDescription"]
        ),
        "spec.homepage: must begin with https://": spec["homepage"].startswith("https://"),
        "spec.platforms: is empty": spec["platforms"],
    }
    for one in spec["platforms"]:
        checks[f"spec.platforms: {one['uri']}: must begin with https://"] = one["uri"].startswith("https://")
        checks[f"spec.platforms: {one['sha256']!r} is no SHA-256"] = _SHA256.fullmatch(one["sha256"])
    return [words for words, holds in checks.items() if not holds]
