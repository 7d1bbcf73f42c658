"""A campaign from `kubectl apply` to Complete, with real Pods; and what a person sees of one that can't start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from tests.cluster.e2e.shop import Shop, campaign, config_map, keyed, provider, readers

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PEOPLE = 2000


def example(name: str) -> dict[str, Any]:
    """The one document of an example."""
    (document,) = yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text("utf-8"))
    found: dict[str, Any] = document
    return found


def mail(shop: Shop) -> dict[str, Any]:
    """The provider `smtp` that the example names."""
    smtp = {"host": shop.far_end.host, "port": shop.far_end.smtp, "tls": "None"}
    return provider("smtp", type="SMTP", smtp=smtp, timeoutSeconds=5)


def test_the_newsletter_of_the_examples_reaches_each_reader_once(shop: Shop) -> None:
    newsletter = example("newsletter-configmap-csv")
    newsletter["spec"]["schedule"]["deadline"] = "2999-12-04T00:00:00Z"
    name = newsletter["metadata"]["name"]
    people = config_map("readers-2026-12", **{"readers.csv": readers(PEOPLE)})
    words = config_map(name, subject="News for {{ name }}", text="Dear {{ name }}, this is all.")
    shop.apply(mail(shop), people, words, newsletter)
    status = shop.until_complete(name)["status"]
    shop.assert_each_got_one(PEOPLE)
    assert status["deliveries"]["sent"] == status["deliveries"]["total"] == PEOPLE
    shop.until(lambda: shop.replicas(name) == 0 and not shop.pods(), "no worker is left")


def test_why_a_worker_cannot_start_is_in_what_kubectl_describes(shop: Shop) -> None:
    people = config_map("readers", **{"readers.csv": readers(3)})
    shop.apply(keyed(shop.far_end, credentialsSecretRef={"name": "no-such-secret"}), people, campaign("spring"))
    shop.until(lambda: any(2 in pod.ended for pod in shop.pods()), "a worker has ended with 2")
    described = shop.kubectl("describe", "pods", "-l", "sendonce.dev/campaign=spring")
    assert "SecretNotFound: Secret no-such-secret is not there, or is empty" in described
    assert "Exit Code:    2" in described
