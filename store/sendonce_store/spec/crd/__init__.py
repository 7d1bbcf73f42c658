"""CustomResourceDefinitions, written from the models, so that the API server and every other reader agree.

Flows in: the models and the tables of rules of `sendonce_store.spec`. `schema` turns a model into a structural schema,
`validations` puts the CEL rules where they belong, `kinds` says what a model does not: names, columns, selectable
fields. Flows out: one document per kind, which `python -m sendonce_store.spec.crd crds/` writes.
"""

from sendonce_store.spec.crd.definitions import definition, files
from sendonce_store.spec.crd.kinds import RESOURCES, Column, ResourceKind

__all__ = ["RESOURCES", "Column", "ResourceKind", "definition", "files"]
