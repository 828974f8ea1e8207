"""The dates of Crossref's filters: a year, month, day or hour."""

import re
from datetime import UTC, datetime, timedelta

from deployments.sandbox.crossref.failure import ValidationFailureError
from deployments.sandbox.instant import to_ms

CLOCK = r"T(?P<hour>\d{2})(?::[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)?Z?"
FORM = re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}})(?:{CLOCK})?)?)?")
FORMS = "yyyy or yyyy-MM or yyyy-MM-dd or yyyy-MM-ddTHH:mm:ss"
SURELY_NEXT_MONTH = timedelta(days=31)
SURELY_NEXT_YEAR = timedelta(days=366)


def read_stamp(text: str) -> tuple[int, int]:
    """First instant of the unit named, and the first after it; minutes and seconds are dropped."""
    found = FORM.fullmatch(text)
    if found is None:
        message = f"Date specified as {text} but must be of the form: {FORMS}"
        raise ValidationFailureError("date-not-valid", text, message)
    given = {name: int(value) for name, value in found.groupdict().items() if value is not None}
    try:
        start = datetime(given["year"], given.get("month", 1), given.get("day", 1), given.get("hour", 0), tzinfo=UTC)
        return to_ms(start), to_ms(_after(start, given))
    except (ValueError, OverflowError) as error:
        message = f"Date {text} specified in the correct format but represents an illegitimate date."
        raise ValidationFailureError("date-not-legitimate", text, message) from error


def _after(start: datetime, given: dict[str, int]) -> datetime:
    if "hour" in given:
        return start + timedelta(hours=1)
    if "day" in given:
        return start + timedelta(days=1)
    if "month" in given:
        return (start + SURELY_NEXT_MONTH).replace(day=1)
    return (start + SURELY_NEXT_YEAR).replace(month=1, day=1)
