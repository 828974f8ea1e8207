"""arXiv ids, of both styles: `2101.00001` and `math/0211159`."""

import re

NEW = re.compile(r"(\d{2})(\d{2})\.(\d{4,5})", re.ASCII)
OLD = re.compile(r"([a-z-]+(?:\.[A-Z]{2})?)/(\d{2})(\d{2})(\d{3})", re.ASCII)
ARCHIVES = ("math", "hep-th", "astro-ph", "cond-mat", "quant-ph", "physics", "math.GT")
EVERY, OLD_STYLE = 5, 4
FIRST_NEW_YEAR, NEW_MONTHS = 21, 60
FIRST_OLD_YEAR, OLD_MONTHS = 92, 180
CENTURY = 100


def write_id(work: int) -> str:
    """The work's id, without a version; one in five is of the old style."""
    if work % EVERY == OLD_STYLE:
        years, month = divmod(work % OLD_MONTHS, 12)
        year = (FIRST_OLD_YEAR + years) % CENTURY
        return f"{ARCHIVES[work % len(ARCHIVES)]}/{year:02}{month + 1:02}{work // OLD_MONTHS + 1:03}"
    years, month = divmod(work % NEW_MONTHS, 12)
    return f"{FIRST_NEW_YEAR + years}{month + 1:02}.{work // NEW_MONTHS + 1:05}"


def read_id(text: str) -> int | None:
    """The work this id would be of; None when it is no arXiv id at all."""
    if found := NEW.fullmatch(text):
        year, month, number = (int(part) for part in found.groups())
        return (number - 1) * NEW_MONTHS + (year - FIRST_NEW_YEAR) * 12 + month - 1
    if found := OLD.fullmatch(text):
        year, month, number = (int(part) for part in found.groups()[1:])
        return (number - 1) * OLD_MONTHS + (year - FIRST_OLD_YEAR) % CENTURY * 12 + month - 1
    return None
