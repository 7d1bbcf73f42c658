"""What of a status is written."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sendonce_operator.decisions.patching import merge_patch

VALUES = st.one_of(st.integers(0, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 3), max_size=2))
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner | VALUES, max_size=3),
    max_leaves=8,
)


def apply(target: object, patch: object) -> object:
    """RFC 7386, as its pseudo-code has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


@given(OBJECTS, OBJECTS)
def test_a_patch_turns_the_old_into_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy(old)
    patch = merge_patch(old, new)
    assert apply(old, patch) == new
    assert old == before
    assert (patch == {}) == (old == new)


def test_only_what_changed_is_named() -> None:
    old = {"a": 1, "b": {"c": 1, "d": 2}, "e": [1], "f": 1}
    assert merge_patch(old, {"a": 1, "b": {"c": 1, "d": 3}, "e": [1, 2]}) == {"b": {"d": 3}, "e": [1, 2], "f": None}
