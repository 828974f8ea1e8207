"""The dates of Crossref's filters: a year, month, day or hour."""

import re
from datetime import UTC, datetime

from deployments.sandbox.crossref.failure import ValidationFailureError
from deployments.sandbox.instant import HOUR_MS, to_ms, unit_of

CLOCK = r"T(?P<hour>\d{2})(?::[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)?Z?"
FORM = re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}})(?:{CLOCK})?)?)?")
FORMS = "yyyy or yyyy-MM or yyyy-MM-dd or yyyy-MM-ddTHH:mm:ss"


def read_stamp(text: str) -> tuple[int, int]:
    """First instant of the unit named, and the first after it; minutes and seconds are dropped."""
    found = FORM.fullmatch(text)
    if found is None:
        message = f"Date specified as {text} but must be of the form: {FORMS}"
        raise ValidationFailureError("date-not-valid", text, message)
    given = {name: int(value) for name, value in found.groupdict().items() if value is not None}
    try:
        return _hour(**given) if "hour" in given else unit_of(**given)
    except (ValueError, OverflowError) as error:
        message = f"Date {text} specified in the correct format but represents an illegitimate date."
        raise ValidationFailureError("date-not-legitimate", text, message) from error


def _hour(year: int, month: int, day: int, hour: int) -> tuple[int, int]:
    start_ms = to_ms(datetime(year, month, day, hour, tzinfo=UTC))
    return start_ms, start_ms + HOUR_MS
