"""What a refusal means, where a token comes from, where it may go, and what krew is given."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.cluster.places import ROOT
from tools.plugin import archive, manifest
from tools.plugin.__main__ import files

from sendonce_kubectl.console import problem
from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.finding import checked_url
from sendonce_kubectl.kubectl import KubectlError
from sendonce_kubectl.options import plain_name
from sendonce_kubectl.tokens import Surroundings, token_of
from sendonce_kubectl.version import VERSION

FORBIDDEN = (
    'Error from server (Forbidden): notificationactions.sendonce.dev is forbidden: User "mia" cannot create resource '
    '"notificationactions" in API group "sendonce.dev" in the namespace "shop"'
)
LISTING = (
    'Error from server (Forbidden): services is forbidden: User "mia" cannot list resource "services" in API group "" '
    "at the cluster scope"
)
REFUSED = "Unable to connect to the server: dial tcp 127.0.0.1:1: connect: connection refused"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (FORBIDDEN, Exit.NO_RIGHT, "may not create notificationactions in namespace shop: .* sendonce-editor, .* mia"),
        (FORBIDDEN.replace("create", "list"), Exit.NO_RIGHT, "ClusterRole sendonce-viewer to mia"),
        (LISTING, Exit.NO_RIGHT, "you may not list services in all namespaces"),
        ("error: You must be logged in to the server (Unauthorized)", Exit.NO_RIGHT, "does not know you"),
        ('error: the server doesn\'t have a resource type "notificationcampaigns"', Exit.NOT_FOUND, "is not installed"),
        ('Error from server (NotFound): notificationcampaigns "x" not found', Exit.NOT_FOUND, '"x" not found'),
        (REFUSED, Exit.UNREACHABLE, "reached"),
        ("", Exit.BAD_INPUT, "without a word"),
    ],
)  # fmt: skip
def test_what_kubectl_says_is_told_with_the_cure(words: str, code: Exit, told: str) -> None:
    error = KubectlError(words)
    assert error.code is code
    with pytest.raises(KubectlError, match=told):
        raise error


@pytest.mark.parametrize(
    ("status", "content", "code", "told"),
    [
        (401, b'{"title": "Who", "detail": "the token has expired"}', Exit.NO_RIGHT, "does not know you: Who.*expired"),
        (403, b'{"title": "Forbidden"}', Exit.NO_RIGHT, "Forbidden. In namespace shop, .* sendonce-recipients"),
        (404, b'{"title": "Not found", "detail": "there is no campaign x"}', Exit.NOT_FOUND, "there is no campaign x"),
        (400, b'{"title": "Bad", "detail": "limit: is no number"}', Exit.BAD_INPUT, "limit: is no number"),
        (302, b"", Exit.UNREACHABLE, "leads elsewhere"),
        (503, b"<html>", Exit.UNREACHABLE, "HTTP 503"),
        (500, b'["x"]', Exit.UNREACHABLE, "HTTP 500"),
    ],
)  # fmt: skip
def test_what_the_console_says_is_told_with_the_cure(status: int, content: bytes, code: Exit, told: str) -> None:
    error = problem(status, content, "shop")
    assert error.code is code
    with pytest.raises(PluginError, match=told):
        raise error


# --- tokens ----------------------------------------------------------------------------------------------------------
def token(user: dict[str, Any], given: str | None = None, **cluster: Any) -> str:
    return token_of(Surroundings("shop", user, cluster), given)


def test_a_token_that_is_given_comes_before_the_kubeconfigs(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("from-file\n", "utf-8")
    assert token({"token": "a"}, "b") == "b"
    assert token({"token": "a"}) == "a"
    assert token({"token": "a", "tokenFile": str(tmp_path / "t")}) == "from-file"
    assert token({"auth-provider": {"name": "oidc", "config": {"id-token": "c"}}}) == "c"


def test_a_credential_plugin_is_asked_as_client_go_does(tmp_path: Path) -> None:
    program = tmp_path / "login.py"
    program.write_text(
        "import json, os, sys\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert told['spec']['cluster'] == {'server': 'https://api.example.com'}, told\n"
        "assert told['spec']['interactive'] is False\n"
        "print(json.dumps({'kind': 'ExecCredential', 'status': {'token': sys.argv[1] + os.environ['MORE']}}))\n",
        "utf-8",
    )
    given = {
        "apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(program), "t"],
        "env": [{"name": "MORE", "value": "1"}], "provideClusterInfo": True, "interactiveMode": "Never",
    }  # fmt: skip
    assert token({"exec": given}, server="https://api.example.com", extra="x") == "t1"


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ({"client-certificate-data": "x"}, "with a client certificate.*--token"),
        ({}, "no token.*--token"),
        ({"tokenFile": "/nowhere"}, "tokenFile /nowhere"),
        ({"exec": {"command": "/nowhere/login"}}, "credential plugin /nowhere/login"),
        ({"exec": {"command": sys.executable, "args": ["-c", ""]}}, "gave no credential"),
        ({"exec": {"command": sys.executable, "args": ["-c", "print('{\"status\": {}}')"]}}, "gave no token"),
    ],
)  # fmt: skip
def test_without_a_token_the_cure_is_told(user: dict[str, Any], told: str) -> None:
    with pytest.raises(PluginError, match=told) as caught:
        token(user)
    assert caught.value.code is Exit.NO_RIGHT


@pytest.mark.parametrize(
    "url",
    [
        "console.example.com", "ftp://a.example.com", "http://console.example.com", "http://127.0.0.1.example.com",
        "https://user@a.example.com", "https://a.example.com/?x=1", "https://a.example.com/#x", "https://", "http://[::1",
        "https://a.example.com:port",
    ],
)  # fmt: skip
def test_a_token_is_sent_to_no_address_that_could_leak_it(url: str) -> None:
    with pytest.raises(PluginError, match="--console-url"):
        checked_url(url)


@pytest.mark.parametrize(
    "url", ["https://a.example.com/", "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1"]
)
def test_a_token_is_sent_by_tls_or_to_this_machine(url: str) -> None:
    assert checked_url(url) == url.rstrip("/")


@pytest.mark.parametrize("text", ["spring", "nc/spring", "notificationcampaign.sendonce.dev/spring"])
def test_a_campaign_is_named_as_kubectl_names_it(text: str) -> None:
    assert plain_name(text) == "spring"


@pytest.mark.parametrize("text", ["", "pod/spring", "nc/", "a b", "..", "a%2f", "a?b", "a#b"])
def test_what_is_no_name_of_a_campaign_is_refused(text: str) -> None:
    with pytest.raises(PluginError, match="campaign"):
        plain_name(text)


# --- the file and krew -----------------------------------------------------------------------------------------------
def test_the_version_is_the_products() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == VERSION


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    for name, content in files("https://releases.example.com/v1/", "https://example.com").items():
        (folder / name).write_bytes(content)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as packed:
        packed.extractall(folder / "krew", filter="data")
    return folder


@pytest.mark.parametrize("place", ["", "krew"])
def test_the_program_runs_on_its_own_without_this_environment(built: Path, place: str) -> None:
    program = built / place / archive.NAME
    bare = [sys.executable, "-I", "-S", str(program)]
    ran = subprocess.run([*bare, "--version"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"kubectl campaign, version {VERSION}\n", "")
    ran = subprocess.run([*bare, "__complete", "ret"], capture_output=True, text=True, check=False)
    assert ran.stdout == "retry\tTry dead letters again.\n:4\n"


def test_the_same_sources_give_the_same_bytes() -> None:
    assert archive.program() == archive.program()
    assert archive.tarball({"b": b"#!x", "a": b"y"}) == archive.tarball({"a": b"y", "b": b"#!x"})
    packed = tarfile.open(fileobj=io.BytesIO(archive.tarball({"b": b"#!x", "a": b"y"})))  # noqa: SIM115 - in memory
    assert [(one.name, one.mode) for one in packed] == [("a", 0o644), ("b", 0o755)]


def test_krews_manifest_names_the_archive_and_its_digest(built: Path) -> None:
    found = yaml.safe_load((built / "campaign.yaml").read_text("utf-8"))
    assert manifest.complaints(found) == []
    platforms = found["spec"]["platforms"]
    assert {(one["selector"]["matchLabels"]["os"], one["bin"]) for one in platforms} == {
        ("linux", "kubectl-campaign"),
        ("darwin", "kubectl-campaign"),
    }
    name = f"kubectl-campaign-v{VERSION}.tar.gz"
    assert {one["uri"] for one in platforms} == {f"https://releases.example.com/v1/{name}"}
    assert json.dumps(found).count(manifest.sha256((built / name).read_bytes())) == len(platforms)


@pytest.mark.parametrize(
    ("version", "address", "homepage", "told"),
    [
        ("1", "https://a.example.com", "https://b.example.com", "spec.version"),
        ("1.0.0", "http://a.example.com", "https://b.example.com", "http://a.example.com"),
        ("1.0.0", "https://a.example.com", "b.example.com", "spec.homepage"),
    ],
)
def test_a_manifest_that_krew_would_refuse_is_not_written(version: str, address: str, homepage: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        manifest.manifest(version, address, b"", homepage)
