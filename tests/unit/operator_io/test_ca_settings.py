"""The settings that name the certificate authorities of the workers."""

from __future__ import annotations

from sendonce_operator.settings import read_settings

NEEDED = {"SENDONCE_DSN": "postgresql:///store", "SENDONCE_WORKER_IMAGE": "worker:1"}


def test_without_a_name_workers_trust_what_their_image_trusts() -> None:
    assert read_settings({**NEEDED, "SENDONCE_WORKER_CA_CONFIGMAP": ""}).defaults.ca_config_map is None


def test_a_name_is_enough_where_the_key_is_the_usual_one() -> None:
    defaults = read_settings({**NEEDED, "SENDONCE_WORKER_CA_CONFIGMAP": "trusted"}).defaults
    assert (defaults.ca_config_map, defaults.ca_key) == ("trusted", "ca.crt")
    other = {"SENDONCE_WORKER_CA_CONFIGMAP": "trusted", "SENDONCE_WORKER_CA_KEY": "bundle.pem"}
    assert read_settings({**NEEDED, **other}).defaults.ca_key == "bundle.pem"
