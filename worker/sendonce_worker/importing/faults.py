"""A fault in one value of one record."""

from sendonce_store.addresses.faults import FieldError

__all__ = ["BadFieldError", "FieldError"]


class BadFieldError(Exception):
    """A `FieldError` with the column it was met in."""

    def __init__(self, field: str, fault: FieldError) -> None:
        super().__init__(field)
        self.field = field
        self.fault = fault
