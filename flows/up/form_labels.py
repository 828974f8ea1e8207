"""What Prefect's server says about a form that is not filled in well, with the labels that people see.

It speaks of properties, such as 'window_from', where the form says From.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from prefect.server.api import deployments as deployments_api
from prefect.server.api.ui import schemas as forms_api
from prefect.utilities.schema_tools.validation import ValidationError

_QUOTED = re.compile(r"'([a-z_]+(?:\.[a-z_]+)*)'")
_REQUIRED = re.compile(r"('[^']*') is a required property")


def say_labels() -> None:
    """Have Prefect's server name a field by its title where it refuses a form."""
    forms: Any = forms_api  # what a module only imports is no part of its types
    deployments: Any = deployments_api
    report, validate = forms.build_error_obj, deployments.validate

    def report_with_labels(errors: list[Any]) -> dict[str, Any]:
        titles = {name: title for error in errors for name, title in titles_of(error.schema).items()}
        found: dict[str, Any] = _relabelled(report(errors), titles)
        return found

    def validate_with_labels(values: Any, schema: Any, *others: Any, **options: Any) -> Any:
        try:
            return validate(values, schema, *others, **options)
        except ValidationError as error:
            raise ValidationError(with_labels(str(error), titles_of(schema))) from error

    forms.build_error_obj = report_with_labels
    deployments.validate = validate_with_labels


def titles_of(schema: Any) -> dict[str, str]:
    """The label of every field in a schema, at whatever depth."""
    return dict(_titles(schema))


def _titles(schema: Any) -> Iterator[tuple[str, str]]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        for name, field in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(field, Mapping) and isinstance(field.get("title"), str):
                yield name, field["title"]
        for part in schema.values():
            yield from _titles(part)


def with_labels(text: str, titles: Mapping[str, str]) -> str:
    """The text with each quoted field, or path to one, as people see it."""

    def label(found: re.Match[str]) -> str:
        title = titles.get(found[1].rpartition(".")[2])
        return f"'{title}'" if title else found[0]

    return _REQUIRED.sub(r"\1 is missing", _QUOTED.sub(label, text))


def _relabelled(found: Any, titles: Mapping[str, str]) -> Any:
    """The report in which the pages look up their messages: places stay, and messages get labels."""
    if isinstance(found, str):
        return with_labels(found, titles)
    if isinstance(found, list):
        return [_relabelled(one, titles) for one in found]
    if isinstance(found, dict):
        return {key: value if key == "property" else _relabelled(value, titles) for key, value in found.items()}
    return found
