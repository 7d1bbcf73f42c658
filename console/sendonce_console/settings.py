"""The console's settings: environment in, one frozen object out, read once at the entry point and passed down."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sendonce_store.environment import (
    LogStyle,
    SettingsError,
    gateway_url,
    log_level,
    log_style,
    number,
    port_or_off,
)
from sendonce_store.program_dsn import program_dsn


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How the console runs. Times in seconds."""

    dsn: str = field(repr=False)
    key: bytes = field(repr=False)  # seals sessions and forms; the same in all replicas
    host: str = "0.0.0.0"  # noqa: S104 - in a Pod; `sendonce console` names the loopback
    port: int = 8080
    ops_port: int | None = None  # /healthz, /readyz and /metrics; None: off
    connections: int = 8  # of the database, at most
    statement_seconds: float = 10.0
    kubeconfig: Path | None = None  # None: the cluster that the console runs in
    audience: str = "sendonce-console"
    any_audience: bool = True  # tokens made for the API server are good as well
    session_seconds: float = 3600.0
    rights_seconds: float = 10.0  # how long the API server's word is believed
    proxy_hops: int = 0  # proxies of ours in front, whose X-Forwarded-For is believed
    levers: bool = True  # off: it shows, and nobody orders anything through it
    gateway_url: str | None = None  # for links in previews; those of a campaign are what it began with
    log_style: LogStyle = "json"
    log_level: str = "INFO"


def read_settings(env: Mapping[str, str] = os.environ) -> ConsoleSettings:
    """Read `SENDONCE_…` variables. Raises SettingsError."""
    kubeconfig = env.get("KUBECONFIG") or None
    return ConsoleSettings(
        dsn=program_dsn(env, "console"),
        key=_key(env),
        host=env.get("SENDONCE_CONSOLE_HOST") or "0.0.0.0",  # noqa: S104 - in a Pod
        port=number(env, "SENDONCE_CONSOLE_PORT", 8080, int, 0, 65_535),
        ops_port=port_or_off(env, "SENDONCE_OPS_PORT", 9090),
        connections=number(env, "SENDONCE_CONSOLE_CONNECTIONS", 8, int, 1, 200),
        statement_seconds=number(env, "SENDONCE_CONSOLE_STATEMENT_SECONDS", 10.0, float, 0.1, 60),
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        audience=env.get("SENDONCE_CONSOLE_AUDIENCE") or "sendonce-console",
        any_audience=_flag(env, "SENDONCE_CONSOLE_ANY_AUDIENCE", default=True),
        session_seconds=number(env, "SENDONCE_CONSOLE_SESSION_SECONDS", 3600.0, float, 60, 86_400),
        rights_seconds=number(env, "SENDONCE_CONSOLE_RIGHTS_SECONDS", 10.0, float, 0, 10),
        proxy_hops=number(env, "SENDONCE_CONSOLE_PROXY_HOPS", 0, int, 0, 10),
        levers=_flag(env, "SENDONCE_CONSOLE_LEVERS", default=True),
        gateway_url=gateway_url(env),
        log_style=log_style(env),
        log_level=log_level(env),
    )


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name, "").lower()
    if text not in {"", "true", "false"}:
        message = f"{name}: {text!r} is neither true nor false"
        raise SettingsError(message)
    return default if not text else text == "true"


_SHORTEST_KEY = 32


def _key(env: Mapping[str, str]) -> bytes:
    """What SENDONCE_CONSOLE_KEY_FILE holds; without it a new one, and sessions end with the process."""
    path = env.get("SENDONCE_CONSOLE_KEY_FILE")
    if not path:
        return secrets.token_bytes(_SHORTEST_KEY)
    try:
        key = Path(path).read_bytes().strip()
    except OSError as error:
        message = f"SENDONCE_CONSOLE_KEY_FILE: {path} can't be read: {error.strerror}"
        raise SettingsError(message) from error
    if len(key) < _SHORTEST_KEY:
        message = (
            f"SENDONCE_CONSOLE_KEY_FILE: {path} has {len(key)} bytes: give it {_SHORTEST_KEY} random ones at least"
        )
        raise SettingsError(message)
    return key
