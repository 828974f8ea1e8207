"""Why a form is refused, in the words of the form: its fields have the labels that people see."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from flows.text.wording import shortened
from ingest_core.model.errors import BadInput, PatraError

_LABELS = {
    "--query": "Query",
    "campaign": "Campaign",
    "ids": "Ids",
    "newest_first": "Newest first",
    "now": "Now",
    "overrides": "Other settings",
    "priority": "Priority",
    "window": "Window",
    "rate_limit.requests_per_second": "Requests per second",
    "pagination.page_size": "Page size",
    "window.step": "Step",
}
"""Where the library's errors point, and the fields that set it."""

_SAYS_WHERE = re.compile(r"^(?:source '[^']*', [A-Z]+: )?(campaign|ids|newest_first|priority)\b")
_PACE = ("rate_limit.requests_per_second", "pagination.page_size", "window.step")
_SHOULD = "Input should "
_BOUNDS = re.compile(r"\b(from|to)\b")
F = TypeVar("F", bound=BaseModel)


def read_form(form: type[F], given: F | Mapping[str, Any]) -> F:
    """The form as it was filled in; BadInput with everything that cannot be taken."""
    try:
        return form.model_validate(given)
    except ValidationError as refused:
        problems = [_problem(form, error) for error in refused.errors()]
        raise BadInput("FORM_REFUSED", "; ".join(problems)) from refused


def _problem(form: type[BaseModel], error: Mapping[str, Any]) -> str:
    label, said, value = _label(form, error["loc"]), str(error["msg"]), _shown(error["input"])
    match error["type"]:
        case "missing":
            return f"{label} is missing"
        case "extra_forbidden":
            return f"{label} is not a field of this form"
    if said.startswith(_SHOULD):
        return f"{label}: {value} should {said.removeprefix(_SHOULD)}"
    return f"{label}: {said}" if label else said


def _label(form: type[BaseModel], place: Iterable[int | str]) -> str:
    """Where an error is: `Pace, Page size`, and of a list the number of the item."""
    labels: list[str] = []
    within: Any = form
    for step in place:
        fields = within.model_fields if isinstance(within, type) and issubclass(within, BaseModel) else {}
        field = fields.get(str(step))
        labels.append(field.title if field and field.title else f"item {step + 1}" if isinstance(step, int) else step)
        within = field.annotation if field else None
    return ", ".join(labels)


def _shown(value: Any) -> str:
    return "nothing" if value is None else shortened(json.dumps(value, default=str, ensure_ascii=False))


def in_labels(error: PatraError) -> str:
    """An error of the library with the fields' labels in place of options and settings."""
    text = str(error)
    if error.code in ("WINDOW_INVALID", "WINDOW_TWICE"):
        text = _BOUNDS.sub(lambda found: found[1].title(), text)
    text = _SAYS_WHERE.sub(lambda found: _LABELS[found[1]], text)
    for setting in _PACE:
        text = text.replace(setting, f"{_LABELS[setting]} ({setting})")
    place = text.partition(":")[0]
    return _LABELS.get(place, place) + text[len(place) :]
