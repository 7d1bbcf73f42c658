"""Phone numbers: text in, E.164 out, by Google's libphonenumber rules (phonenumbers)."""

import re
import unicodedata

from phonenumbers import (
    NumberParseException,
    PhoneNumber,
    PhoneNumberFormat,
    ValidationResult,
    format_number,
    is_possible_number_with_reason,
    parse,
)

from sendonce_store.addresses.faults import FieldError
from sendonce_store.recipients import Address

_MAX_LENGTH = 40
# digits and the punctuation people write between them; letters would be read as a keypad (1-800-FLOWERS)
_INTERNATIONAL = re.compile(r"\+[0-9 ().\-/\u2010-\u2015]+").fullmatch
_REASONS = {
    ValidationResult.TOO_SHORT: "has too few digits for its country",
    ValidationResult.TOO_LONG: "has too many digits for its country",
    ValidationResult.INVALID_LENGTH: "has a number of digits that its country does not use",
    ValidationResult.INVALID_COUNTRY_CODE: "starts with a country code that does not exist",
    ValidationResult.IS_POSSIBLE_LOCAL_ONLY: "lacks its area code",
}


def normalise_phone(value: str) -> Address:
    """The number in E.164 ("+1 (500) 555-0006" → "+15005550006"), which is its identity too.

    Judged by length, not by libphonenumber's list of ranges in use: that list ages, and the provider knows better (see
    its FAQ on isPossibleNumber). Raises `FieldError`.
    """
    if len(value) > _MAX_LENGTH:
        raise FieldError(f"is {len(value)} characters long; a phone number has at most 15 digits", value=value)
    text = unicodedata.normalize("NFKC", value)
    if not text.startswith("+"):
        raise FieldError("has no country code: write it as + and the country code, such as +15005550006", value=value)
    if not _INTERNATIONAL(text):
        raise FieldError("is not a phone number, such as +15005550006", value=value)
    number = format_number(_parsed(text, value), PhoneNumberFormat.E164)
    return Address(number, number)


def _parsed(text: str, value: str) -> PhoneNumber:
    try:
        number = parse(text)
    except NumberParseException as error:
        detail = error._msg  # noqa: SLF001 -- str(error) repeats it behind a bare number
        raise FieldError("is not a phone number, such as +15005550006", detail=detail, value=value) from None
    reason = _REASONS.get(is_possible_number_with_reason(number))
    if reason:
        raise FieldError(reason, value=value)
    return number
