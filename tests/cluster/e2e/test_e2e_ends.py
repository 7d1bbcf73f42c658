"""Each way in which a worker ends has its exit code and its last words, and `kubectl describe pod` shows both.

SIGKILL and running out of memory are in `test_e2e_killed`, draining in `test_e2e_disturbed`.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.cluster.e2e.containers import are_there, processes, send
from tests.cluster.e2e.shop import Object, Shop, campaign, config_map, keyed, readers

# one in a second: for as long as three waits
PEOPLE = 450
CAMPAIGN = {"SENDONCE_NAMESPACE": "nobody", "SENDONCE_SEND_KEY": "none"}
NOBODY_LISTENS = "postgresql://127.0.0.1:1/none"
# variables → exit code and last words
ALONE = {
    "no-settings": ({}, 2, "SENDONCE_DSN is not set"),
    "no-store": ({**CAMPAIGN, "SENDONCE_DSN": NOBODY_LISTENS}, 3, "can't be used: "),
    "no-authorities": ({"SSL_CERT_FILE": "/nowhere/ca.crt"}, 2, "SSL_CERT_FILE: /nowhere/ca.crt has no certificates"),
}


def alone(name: str, image: str, variables: dict[str, str]) -> Object:
    """A worker in a Pod of its own, started once."""
    restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    container: dict[str, Any] = {
        "name": "worker",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": key, "value": value} for key, value in variables.items()],
        "securityContext": restricted,
    }
    user = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"containers": [container], "restartPolicy": "Never", "securityContext": user}
    metadata = {"name": name, "labels": {"sendonce.dev/campaign": "alone"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture
def slow(shop: Shop) -> Shop:
    """A campaign whose hand-offs take two seconds, with one worker, which has two in flight."""
    shop.far_end.order(latency=2)
    people = config_map("readers", **{"readers.csv": readers(PEOPLE)})
    shop.apply(keyed(shop.far_end), people, campaign("spring", workers={"max": 1, "concurrency": 2}))
    shop.until_received(2)
    return shop


def test_what_a_worker_could_not_begin_with_is_told_by_exit_code_and_words(shop: Shop, images: dict[str, str]) -> None:
    shop.apply(*(alone(name, images["worker"], variables) for name, (variables, _, _) in ALONE.items()))
    shop.until(lambda: all(pod.ended for pod in shop.pods()), "all have ended")
    ended = {pod.name: (pod.ended, pod.said) for pod in shop.pods()}
    for name, (_, code, words) in ALONE.items():
        assert ended[name][0] == (code,)
        assert words in ended[name][1][0]
    described = shop.kubectl("describe", "pod", "no-settings")
    assert "SENDONCE_DSN is not set" in described
    assert "Exit Code:    2" in described


def test_a_worker_that_is_told_twice_stops_at_once_and_one_whose_campaign_is_over_says_so(slow: Shop) -> None:
    worker = processes(slow, slow.pods()[0])

    def ended() -> bool:
        send(worker, signal.SIGTERM)
        return not are_there(worker)

    slow.until(ended, "the worker has ended")
    slow.until(lambda: bool(slow.pods()[0].ended), "its end is shown")
    (pod,) = slow.pods()
    assert (pod.ended, pod.said) == (
        (143,),
        ("stopped at once: what was in flight is settled by the next worker",),
    )
    slow.far_end.order(latency=0)
    with slow.watching() as seen:
        slow.until_complete("spring")
        slow.until(lambda: not slow.pods(), "no worker is left")
        assert "the campaign has ended" in seen()[pod.name].said
    slow.assert_each_got_one(PEOPLE)
