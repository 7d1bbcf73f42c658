"""A fault in one value."""


class FieldError(Exception):
    """A value cannot be taken; the record it stands in is refused.

    `reason` never contains the value or a part of it, so that it may be shown for a Secret; `detail` and `value` may.
    """

    def __init__(self, reason: str, *, value: object, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.value = value
