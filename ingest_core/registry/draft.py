"""A starting file for a source of one's own, from a few answers."""

from dataclasses import dataclass
from string import Template

import yaml

from ingest_core.model.codes import PaginationType
from ingest_core.registry.export import HEADER, SCHEMA_FILE

PAGING = {
    PaginationType.TOKEN: (
        "  next_token: $next          # the token of the next page; the first page is asked without one\n",
        "  - {name: $place, value: page_token}\n",
    ),
    PaginationType.URL: ("  next_url: $next            # the whole URL of the next page\n", ""),
    PaginationType.OFFSET: ("", "  - {name: $place, value: page_offset}\n"),
    PaginationType.PAGE: (
        "  page_base: 1                # the number of the first page\n",
        "  - {name: $place, value: page_number}\n",
    ),
}
"""The lines each way of paging needs."""

_TEXT = """\
# $name
# Check it:  patra source check $code.yaml --from 2026-01-01 --to 2026-01-02
# Send one request:  patra source check $code.yaml --from 2026-01-01 --to 2026-01-02 --send
# Use it:  patra registry apply $code.yaml
source:
  code: $code
  name: $name
  description: ""
  # id_normalizer: DOI        # if ids are DOIs: they have no case
  # id_pattern: "[0-9]+"      # a regular expression: a refresh by ids that do not match it is refused

endpoints:
  - name: records
    path: $path
    operations: [HARVEST, BACKFILL]
    response:
      items: $items           # the list of records in an answer
      id: $id                 # within a record; {all: [$$.source, $$.id], with: /} joins parts
      updated_at: $updated    # within a record; without it, a record cannot be harvested
      # total: $$.total       # how many records the whole result has: completeness is checked against it
      # errors: [{path: $$.error, message: $$.error.message}]    # errors that come with status 200

http:
  base_url: $base_url
  # query: {mailto: "{contact}"}          # in every request; {contact} is PATRA_CONTACT

# The secret's name must be allowed: PATRA_CREDENTIAL_NAMES=${upper}_API_KEY
# credential: {auth: API_KEY, ref: "env:${upper}_API_KEY", location: HEADER, name: x-api-key}

pagination:
  type: $paging
  max_page_size: $cap         # the provider's cap; a page asks for 70 % of it
$paging_lines
window:
  field: updated
  watermark_key: updated
  lookback: PT2H              # how long a record may take to become visible
  step: P1D                   # how much time one slice covers
  unit: DAY                   # the unit the provider's filter understands: SECOND, MINUTE, HOUR or DAY
  format: $format
  upper_inclusive: true       # whether the filter includes its upper bound
  # stored_precision: SECOND  # how exactly records are stamped, if that is known

rate_limit:
  requests_per_second: $rate

params:
  - {name: $size, value: page_size}
$param_lines
fields:
  - {name: updated, type: DATETIME}

capabilities:
  - {field: updated, ops: [RANGE]}

render_rules:                 # how the window is asked for
  - {field: updated, op: RANGE, params: {$from_param: "{from}", $to_param: "{to}"}}

mapping:                      # the common record; leave out what the source does not have
  title: $$.title
  # authors: {each: $$.authors, need: name, name: $$.name, orcid: {path: $$.orcid, as: orcid}}
  # dates: {published: {path: $$.published, as: date}}
  # identifiers: {doi: {path: $$.doi, as: doi}}
  # journal: {title: $$.journal}
  # type: $$.type
  # abstract: $$.abstract
"""


@dataclass(frozen=True)
class Answers:
    """What a newcomer is asked."""

    code: str
    name: str
    base_url: str
    path: str
    items: str = "$.items"
    id: str = "$.id"
    updated: str = "$.updated"
    paging: PaginationType = PaginationType.PAGE
    cap: int = 100
    place: str = "page"
    next: str = "$.next"
    size: str = "size"
    from_param: str = "from"
    to_param: str = "to"
    format: str = "%Y-%m-%d"
    rate: float = 1.0


def draft_source(answers: Answers) -> str:
    """The text of a file that compiles, with comments that say what to change."""
    said = {name: _scalar(value) if isinstance(value, str) else value for name, value in vars(answers).items()}
    paging_lines, param_lines = (Template(lines).substitute(said) for lines in PAGING[answers.paging])
    values = {
        **said,
        "paging": answers.paging.value,
        "paging_lines": paging_lines,
        "param_lines": param_lines,
        "upper": answers.code.upper(),
    }
    return HEADER.format(schema=SCHEMA_FILE) + Template(_TEXT).substitute(values)


def _scalar(text: str) -> str:
    """A text as YAML takes it on one line, in quotes where it needs them."""
    return str(yaml.safe_dump(str(text), default_flow_style=True, width=10_000)).removesuffix("...\n").strip()
