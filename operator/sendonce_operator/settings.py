"""The operator's settings: environment in, one frozen object out, read once at the entry point and passed down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sendonce_operator.decisions.facts import Defaults, Mode
from sendonce_operator.decisions.worker_defaults import SETTING, read_worker_defaults
from sendonce_store.environment import SettingsError, dsn, gateway_url, log_level, number, port_or_off, required
from sendonce_store.tenancy import TenancyError, check_address

OWNER_BEAT = 20.0


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How the operator runs. Times in seconds."""

    dsn: str = field(repr=False)
    identity: str
    defaults: Defaults
    kubeconfig: Path | None = None  # None: the cluster that the operator runs in
    store_address: str | None = None  # the database as Pods reach it: the operator makes the logins of namespaces
    health_port: int | None = 8080
    metrics_port: int | None = 9090
    tick: float = 1.0
    status_interval: float = 3.0  # an object's status is written no more often
    resync: float = 60.0
    owner_silence: float = 90.0  # an owner that nobody has looked after for so long is gone
    log_level: str = "INFO"
    dsn_file: Path | None = None  # where `dsn` comes from

    def current_dsn(self) -> str:
        """The store, as its file says by now: passwords are changed while an operator runs. Raises SettingsError."""
        return self.dsn if self.dsn_file is None else dsn({"SENDONCE_DSN_FILE": str(self.dsn_file)})

    @property
    def owner_beat(self) -> float:
        """Seconds between two notes that owners live: four of them at least before one counts as gone."""
        return min(OWNER_BEAT, self.owner_silence / 4)


def read_settings(env: Mapping[str, str] = os.environ) -> OperatorSettings:
    """Read `SENDONCE_…` variables. Raises SettingsError."""
    kubeconfig = env.get("KUBECONFIG") or None
    return OperatorSettings(
        dsn=dsn(env),
        identity=env.get("HOSTNAME") or os.uname().nodename,
        defaults=_defaults(env),
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        store_address=_store_address(env),
        health_port=port_or_off(env, "SENDONCE_HEALTH_PORT", 8080),
        metrics_port=port_or_off(env, "SENDONCE_METRICS_PORT", 9090),
        tick=number(env, "SENDONCE_TICK_SECONDS", 1.0, float, 0.05, 60),
        status_interval=number(env, "SENDONCE_STATUS_SECONDS", 3.0, float, 0, 600),
        resync=number(env, "SENDONCE_RESYNC_SECONDS", 60.0, float, 1, 3600),
        owner_silence=number(env, "SENDONCE_OWNER_SECONDS", 90.0, float, 5, 3600),
        log_level=log_level(env),
        dsn_file=Path(file) if (file := env.get("SENDONCE_DSN_FILE")) else None,
    )


def _defaults(env: Mapping[str, str]) -> Defaults:
    user = number(env, "SENDONCE_WORKER_USER", 65_532, int, 0, 2**31 - 1)
    pods = read_worker_defaults(env.get(SETTING, ""))
    return Defaults(
        image=required(env, "SENDONCE_WORKER_IMAGE"),
        pull_policy=env.get("SENDONCE_WORKER_PULL_POLICY", "IfNotPresent"),
        service_account=env.get("SENDONCE_WORKER_SERVICE_ACCOUNT") or None,
        store_secret=env.get("SENDONCE_STORE_SECRET", "sendonce-store"),
        store_secret_key=env.get("SENDONCE_STORE_SECRET_KEY", "dsn"),
        max_workers=number(env, "SENDONCE_MAX_WORKERS", 50, int, 1, 10_000),
        mode=_mode(env),
        user=user or None,
        resources=pods.compute,
        environment=pods.env,
        pods=pods,
        log_level=log_level(env, "SENDONCE_WORKER_LOG_LEVEL"),
        ca_config_map=env.get("SENDONCE_WORKER_CA_CONFIGMAP") or None,
        ca_key=env.get("SENDONCE_WORKER_CA_KEY") or "ca.crt",
        gateway_url=gateway_url(env),
    )


def _mode(env: Mapping[str, str]) -> Mode:
    try:
        return Mode(env.get("SENDONCE_MODE", "Normal"))
    except ValueError:
        message = (
            f"SENDONCE_MODE: {env['SENDONCE_MODE']!r} is unknown: use Normal, or Standby, which holds all campaigns"
        )
        raise SettingsError(message) from None


def _store_address(env: Mapping[str, str]) -> str | None:
    address = env.get("SENDONCE_STORE_ADDRESS")
    if not address:
        return None
    try:
        check_address(address)
    except TenancyError as error:
        message = f"SENDONCE_STORE_ADDRESS: {error}"
        raise SettingsError(message) from None
    return address
