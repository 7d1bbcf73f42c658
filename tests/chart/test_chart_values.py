"""Wrong values are refused before anything is made, with the value's name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.chart.rendering import template
from tools.chart import comments
from tools.chart.__main__ import CHART, stale
from tools.chart.comments import UndescribedError
from tools.chart.schema import schema

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt value": ({"oprator": {}}, "oprator"),
    "a misspelt value further in": ({"operator": {"loglevel": "INFO"}}, "loglevel"),
    "a mode that is none": ({"mode": "standby"}, "/mode"),
    "a number as text": ({"workers": {"max": "50"}}, "/workers/max"),
    "too few": ({"workers": {"max": 0}}, "/workers/max"),
    "a digest without its kind": ({"operator": {"image": {"digest": "a1b2"}}}, "/operator/image/digest"),
    "a tag with a space": ({"cli": {"image": {"tag": "a b"}}}, "/cli/image/tag"),
    "a pull secret as text": ({"image": {"pullSecrets": ["registry"]}}, "/image/pullSecrets/0"),
    "an address with a password": ({"store": {"address": "postgresql://u:p@db/s"}}, "/store/address"),
    "no Secret": ({"database": {"existingSecret": ""}}, "/database/existingSecret"),
    "a policy that is none": ({"uninstall": {"policy": "Drain"}}, "/uninstall/policy"),
    "a map of numbers": ({"workers": {"podLabels": {"a": 1}}}, "/workers/podLabels/a"),
    "resources at the wrong place": ({"operator": {"resources": {"cpu": 1}}}, "/operator/resources"),
    "an interval without a unit": ({"monitoring": {"podMonitor": {"interval": "30"}}}, "/monitoring/podMonitor/inter"),
    "a switch as text": ({"crds": {"create": "yes"}}, "/crds/create"),
    "root for the database": ({"postgresql": {"user": 0}}, "/postgresql/user"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_value_is_refused_by_its_name(case: str) -> None:
    values, name = WRONG[case]
    done = template(values)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr
    assert name in done.stderr


def test_a_secret_s_key_that_a_try_out_would_not_make_is_refused() -> None:
    done = template({"postgresql": {"enabled": True}, "database": {"secretKey": "url"}})
    assert "database.secretKey: must be dsn with postgresql.enabled" in done.stderr


def test_what_is_generated_is_in_step() -> None:
    assert stale() == []


def test_every_value_has_a_description_a_default_and_a_shape_that_allows_it() -> None:
    found = comments.values((CHART / "values.yaml").read_text("utf-8"))
    assert len(found) > 100
    assert len({value.name for value in found}) == len(found)
    assert template({}).returncode == 0


def test_a_value_without_a_description_is_an_error_that_names_it() -> None:
    with pytest.raises(UndescribedError, match=r"values.yaml:4: a.c has no"):
        comments.values("a:\n  # -- B\n  b: 1\n  c: 2\n")


def test_comments_become_descriptions() -> None:
    found = comments.values("a:\n  # -- How many\n  b: 1\n# -- A map\nc:\n  d: e\n")
    assert [(value.name, value.default, value.description) for value in found] == [
        ("a.b", 1, "How many"),
        ("c", {"d": "e"}, "A map"),
    ]


def test_what_is_not_described_is_not_allowed() -> None:
    written = schema(comments.values("# -- The mode\nmode: Normal\n"))
    assert written["additionalProperties"] is False
    assert written["properties"]["mode"]["enum"] == ["Normal", "Standby"]
    assert written["properties"]["mode"]["description"] == "The mode"
