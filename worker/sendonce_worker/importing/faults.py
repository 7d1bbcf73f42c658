"""A fault in one value of one record."""


class FieldError(Exception):
    """A value cannot be taken; the record it stands in is refused.

    `reason` never contains the value or a part of it, so that it may be shown for a Secret; `detail` and `value` may.
    """

    def __init__(self, reason: str, *, value: object, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.value = value


class BadFieldError(Exception):
    """A `FieldError` with the column it was met in."""

    def __init__(self, field: str, fault: FieldError) -> None:
        super().__init__(field)
        self.field = field
        self.fault = fault
