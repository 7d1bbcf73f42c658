"""A worker's settings: environment in, one frozen object out, read once at the entry point and passed down."""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sendonce_store.environment import (
    LogStyle,
    SettingsError,
    dsn,
    gateway_url,
    log_level,
    log_style,
    number,
    port_or_off,
    required,
)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How one worker process runs. Times in seconds."""

    dsn: str
    namespace: str
    send_key: str
    identity: str  # unique per process start: a pod that restarts keeps its name, but is somebody else
    files: Path  # ConfigMaps and Secrets, mounted as configmaps/<name>/<key> and secrets/<name>/<key>
    heartbeat: float = 5.0
    grace: float = 60.0
    concurrency: int | None = None  # None: as the campaign says
    batches: int = 2  # held at a time, so that the tail of one is filled by the next
    health_port: int | None = 8080
    log_style: LogStyle = "json"
    log_level: str = "INFO"
    exit_when_done: bool = False
    gateway_url: str | None = None  # for links in messages: those of a campaign stay as it began with


def read_settings(env: Mapping[str, str] = os.environ) -> WorkerSettings:
    """Read `SENDONCE_…` variables. Raises SettingsError."""
    _check_authorities(env.get("SSL_CERT_FILE"))
    return WorkerSettings(
        dsn=dsn(env),
        namespace=required(env, "SENDONCE_NAMESPACE"),
        send_key=required(env, "SENDONCE_SEND_KEY"),
        identity=env.get("SENDONCE_WORKER_ID") or f"{os.uname().nodename}-{uuid.uuid4().hex[:16]}",
        files=Path(env.get("SENDONCE_FILES", "/etc/sendonce")),
        heartbeat=number(env, "SENDONCE_HEARTBEAT_SECONDS", 5.0, float, 0.05, 60),
        grace=number(env, "SENDONCE_GRACE_SECONDS", 60.0, float, 0, 3600),
        concurrency=number(env, "SENDONCE_CONCURRENCY", 64, int, 1, 10_000)
        if env.get("SENDONCE_CONCURRENCY")
        else None,
        batches=number(env, "SENDONCE_BATCHES", 2, int, 1, 16),
        health_port=port_or_off(env, "SENDONCE_HEALTH_PORT", 8080),
        log_style=log_style(env),
        log_level=log_level(env),
        exit_when_done=env.get("SENDONCE_EXIT_WHEN_DONE", "") not in {"", "0", "false"},
        gateway_url=gateway_url(env),
    )


def _check_authorities(path: str | None) -> None:
    """OpenSSL takes a file that is not there for one without certificates: every server would look like a fraud."""
    if not path:
        return
    try:
        ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError) as error:
        problem = f"SSL_CERT_FILE: {path} has no certificates in PEM ({error.strerror or error})"
        message = (
            f"{problem}; in a Pod it is a key of the ConfigMap that the operator's SENDONCE_WORKER_CA_CONFIGMAP names, "
            "which must be in the campaign's namespace"
        )
        raise SettingsError(message) from error
