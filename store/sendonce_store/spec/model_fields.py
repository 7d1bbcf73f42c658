"""Finding one's way in the models: which object stands at a path, and where else a field of some name is.

Used to say what an unknown field may have meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from sendonce_store.spec.base import SpecModel, wire_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.problems import Path

__all__ = ["model_at", "objects_with", "wire_fields"]


def wire_fields(model: type[SpecModel]) -> list[str]:
    """Return the names of a model's fields, as they are on the wire."""
    return [wire_name(name) for name in model.model_fields]


def _models_in(annotation: object) -> Iterator[type[SpecModel]]:
    if isinstance(annotation, type) and issubclass(annotation, SpecModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _children(model: type[SpecModel]) -> Iterator[tuple[str, type[SpecModel]]]:
    for name, info in model.model_fields.items():
        for child in _models_in(info.annotation):
            yield wire_name(name), child


def model_at(root: type[SpecModel], path: Path) -> type[SpecModel] | None:
    """Return the model of the object at `path`, or None if no model describes it."""
    model: type[SpecModel] | None = root
    for step in path:
        if model is None:
            return None
        # the index of a list and the key of a map lead to the same model as the list or map itself
        if isinstance(step, str):
            model = dict(_children(model)).get(step)
    return model


def objects_with(root: type[SpecModel], field: str, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of all objects below `root` that have a field of this name (lists without an index)."""
    if field in wire_fields(root):
        yield path
    for name, child in _children(root):
        yield from objects_with(child, field, (*path, name))
