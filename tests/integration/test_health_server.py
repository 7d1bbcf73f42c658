"""Probes and metrics over HTTP, asked as Kubernetes and Prometheus ask."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from sendonce_worker.health import HealthServer, HealthState
from sendonce_worker.metrics import DeliverySeries, ProviderSeries, WorkerMetrics


class Clock:
    """A clock that a test turns."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> HealthState:
    return HealthState(max_silence=10, clock=clock)


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def server(state: HealthState, registry: CollectorRegistry) -> Iterator[HealthServer]:
    with HealthServer(state, registry, "127.0.0.1", 0) as running:
        yield running


def get(server: HealthServer, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def send_raw(server: HealthServer, raw: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            return answer.read()


def test_healthz_fails_with_the_reason_once_the_loop_is_silent_for_too_long(
    server: HealthServer, state: HealthState, clock: Clock
) -> None:
    clock.now += 10
    assert get(server, "/healthz") == (200, "the loop turns\n")
    clock.now += 0.5
    assert get(server, "/healthz") == (503, "the loop has not turned for 10.5 s (limit 10 s)\n")
    state.beat()
    assert get(server, "/healthz")[0] == 200


def test_readyz_follows_the_workers_life(server: HealthServer, state: HealthState, clock: Clock) -> None:
    assert get(server, "/readyz") == (503, "the store is not connected\n")
    state.store_connected = True
    assert get(server, "/readyz") == (503, "not claiming batches yet\n")
    state.claiming = True
    assert get(server, "/readyz") == (200, "claiming batches\n")
    state.store_connected = False
    assert get(server, "/readyz")[0] == 503
    state.store_connected = True
    state.draining = True
    assert get(server, "/readyz")[0] == 503
    assert "draining" in get(server, "/readyz")[1]
    state.draining = False
    clock.now += 11
    assert "has not turned" in get(server, "/readyz")[1]


def test_a_worker_that_drains_is_still_alive(server: HealthServer, state: HealthState) -> None:
    state.draining = True
    assert get(server, "/healthz")[0] == 200


def test_metrics_are_served_as_text_and_as_openmetrics(server: HealthServer, registry: CollectorRegistry) -> None:
    WorkerMetrics(registry).lease_lost()
    status, body = get(server, "/metrics")
    assert status == 200
    assert "sendonce_lease_lost_total 1.0\n" in body
    assert get(server, "/metrics", headers={"Accept": "application/openmetrics-text"})[1].endswith("# EOF\n")


def test_a_query_is_ignored_and_an_unknown_path_names_the_known_ones(server: HealthServer) -> None:
    assert get(server, "/healthz?verbose=1")[0] == 200
    status, body = get(server, "/")
    assert status == 404
    assert "/healthz, /readyz and /metrics" in body


def test_a_head_request_gets_no_body(server: HealthServer) -> None:
    answer = send_raw(server, b"HEAD /healthz HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 200 ")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "DELETE", "TRACE"])
def test_nothing_can_be_written(server: HealthServer, method: str) -> None:
    assert get(server, "/healthz", method)[0] == 501


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"\x00\xff\xfe garbage \r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nBad header\x00\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    ],
)
def test_a_malformed_request_harms_nobody(server: HealthServer, raw: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(OSError):  # dropped in the middle is as good as an answer
        send_raw(server, raw)
    assert get(server, "/healthz")[0] == 200
    assert capsys.readouterr().err == ""


def test_clients_that_send_nothing_do_not_hold_up_a_probe(server: HealthServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
    try:
        assert get(server, "/healthz")[0] == 200
    finally:
        for connection in idle:
            connection.close()


def test_a_flood_of_clients_is_turned_away_and_the_server_recovers(server: HealthServer) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(17)]
    try:
        assert idle[-1].recv(1) == b""
    finally:
        for connection in idle:
            connection.close()
    statuses = []
    while 200 not in statuses:
        try:
            statuses.append(get(server, "/healthz")[0])
        except (ConnectionError, http.client.HTTPException):
            assert len(statuses) == 0


def test_a_registry_that_fails_does_not_stop_the_server(
    server: HealthServer, registry: CollectorRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def collect(self) -> Iterator[object]:
            message = "no"
            raise RuntimeError(message)

    registry._collector_to_names[Broken()] = []  # type: ignore[index]  # noqa: SLF001  # register() would collect
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        get(server, "/metrics")
    assert get(server, "/healthz")[0] == 200
    assert capsys.readouterr().err == ""


def test_a_port_that_is_taken_is_named(server: HealthServer, state: HealthState, registry: CollectorRegistry) -> None:
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{server.port}.*choose another"):
        HealthServer(state, registry, "127.0.0.1", server.port)


def test_closing_frees_the_port_and_ends_the_thread(state: HealthState, registry: CollectorRegistry) -> None:
    server = HealthServer(state, registry, "127.0.0.1", 0)
    server.start()
    port = server.port
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert "health" not in {thread.name for thread in threading.enumerate()}


def test_a_server_that_was_never_started_can_be_closed(state: HealthState, registry: CollectorRegistry) -> None:
    HealthServer(state, registry, "127.0.0.1", 0).close()


SPRING = DeliverySeries("shop", "spring", "Email", "smtp")
SUMMER = DeliverySeries("shop", "summer", "Email", "smtp")
SMTP = ProviderSeries("shop", "smtp")


def test_the_series_have_the_names_and_labels_of_the_documentation(
    server: HealthServer, registry: CollectorRegistry
) -> None:
    metrics = WorkerMetrics(registry)
    metrics.delivered(SPRING, "sent", 3)
    metrics.delivered(SPRING, "sent")
    metrics.send_took(SMTP, 0.2)
    metrics.rate_limit_waited(SMTP, 1.5)
    lines = get(server, "/metrics")[1].splitlines()
    labels = 'namespace="shop",provider="smtp"'
    delivery_labels = 'campaign="spring",channel="Email",namespace="shop",outcome="sent",provider="smtp"'
    assert {
        f"sendonce_deliveries_total{{{delivery_labels}}} 4.0",
        f"sendonce_send_duration_seconds_count{{{labels}}} 1.0",
        f'sendonce_send_duration_seconds_bucket{{le="0.25",{labels}}} 1.0',
        f"sendonce_rate_limit_wait_seconds_total{{{labels}}} 1.5",
        "sendonce_lease_lost_total 0.0",
    } <= set(lines)


def test_the_series_of_a_finished_campaign_go_away_and_no_others(
    server: HealthServer, registry: CollectorRegistry
) -> None:
    metrics = WorkerMetrics(registry)
    for series in (SPRING, SUMMER, SPRING._replace(namespace="other"), SPRING._replace(channel="SMS")):
        metrics.delivered(series, "sent")
        metrics.delivered(series, "failed")
    metrics.forget_campaign("shop", "spring")
    metrics.forget_campaign("shop", "spring")
    kept = [line for line in get(server, "/metrics")[1].splitlines() if 'campaign="' in line]
    assert not any('campaign="spring"' in line and 'namespace="shop"' in line for line in kept)
    assert sum('campaign="summer"' in line for line in kept if "_created" not in line) == 2
    assert sum('namespace="other"' in line for line in kept if "_created" not in line) == 2


def test_a_campaign_that_comes_back_counts_from_zero(registry: CollectorRegistry) -> None:
    metrics = WorkerMetrics(registry)
    metrics.delivered(SPRING, "sent", 5)
    metrics.forget_campaign("shop", "spring")
    metrics.delivered(SPRING, "sent")
    labels = {**SPRING._asdict(), "outcome": "sent"}
    assert registry.get_sample_value("sendonce_deliveries_total", labels) == 1


def test_two_workers_in_one_process_count_apart() -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    WorkerMetrics(registries[0]).lease_lost()
    WorkerMetrics(registries[1])
    assert [registry.get_sample_value("sendonce_lease_lost_total") for registry in registries] == [1, 0]
