"""The chart as `helm template` renders it: values in, objects out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from tools.chart.__main__ import CHART
from tools.chart.helm import program

Object = dict[str, Any]
RELEASE, NAMESPACE = "sendonce", "sendonce-system"
# What is checked of Pods holds for those of hooks and tests as well.
WORKLOADS = ("Deployment", "StatefulSet", "Job", "Pod")


def helm(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run helm, in no cluster."""
    return subprocess.run([program(), *arguments], input=stdin, capture_output=True, text=True, check=False, timeout=60)


def template(values: Object, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `helm template` with values."""
    given = ["--namespace", NAMESPACE, "--values", "-", *options]
    return helm("template", RELEASE, str(CHART), *given, stdin=json.dumps(values))


@cache
def _rendered(values: str) -> str:
    done = template(json.loads(values))
    assert done.returncode == 0, done.stderr
    # libyaml: Python's own parser takes a second for the CRDs
    return json.dumps([one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one])


def rendered(values: Object | None = None) -> list[Object]:
    """Every object, hooks too; AssertionError with helm's complaint."""
    found: list[Object] = json.loads(_rendered(json.dumps(values or {})))
    return found


def by_kind(objects: list[Object], kind: str) -> list[Object]:
    return [one for one in objects if one["kind"] == kind]


def named(objects: list[Object], kind: str, name: str) -> Object:
    (found,) = [one for one in by_kind(objects, kind) if one["metadata"]["name"] == name]
    return found


def pods(objects: list[Object]) -> Iterator[tuple[str, Object]]:
    """Name and Pod (metadata and spec) of each workload."""
    for one in objects:
        if one["kind"] in WORKLOADS:
            pod = one if one["kind"] == "Pod" else one["spec"]["template"]
            yield f"{one['kind']}/{one['metadata']['name']}", pod


def environment(objects: list[Object]) -> dict[str, str]:
    """The operator's variables."""
    container = named(objects, "Deployment", "sendonce-operator")["spec"]["template"]["spec"]["containers"][0]
    return {one["name"]: one["value"] for one in container["env"]}
