"""Records that lack the split field: how a source is asked for them, and what to say where it cannot be."""

from ingest_core.model.codes import TotalKind
from ingest_core.model.expression import EVERYTHING, Exists, Node, Not, Range, both, from_json, part_range
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import EPOCH
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.params import body_names
from ingest_core.registry.problems import Findings
from ingest_core.registry.render import Rendered, Renderer, TimeText, Unrenderable


def render_unset(renderer: Renderer, query: Node, field: str) -> Rendered:
    """The query for records without a field: NOT EXISTS, or NOT RANGE over all numbers; Unrenderable without either."""
    try:
        return renderer.render(both(query, Not(Exists(field))))
    except Unrenderable:
        return renderer.render(both(query, Not(part_range(IdRange(field)))))


def can_read_unset(spec: SpecSnapshot) -> bool:
    """Whether the source can be asked for the records that lack its split field; true where it has none."""
    if spec.slicing.split_field is None or spec.window is None:
        return True
    renderer = Renderer(spec.rules, TimeText(spec.window.format, spec.window.time_zone))
    bounds = Range(spec.window.field, EPOCH, EPOCH) if spec.window.supports_updated_since else EVERYTHING
    try:
        rendered = render_unset(renderer, both(from_json(spec.expression), bounds), spec.slicing.split_field)
    except Unrenderable:
        return False
    # Text that no parameter carries would be left out of the request, which would then ask for the whole window.
    carried = any(param.value == "query" for param in spec.params) or "query" in body_names(spec.http.body)
    return rendered.text is None or carried


def note_unset(spec: SpecSnapshot, found: Findings) -> None:
    """Say what becomes of records that lack the split field where the source cannot be asked for them."""
    name = spec.slicing.split_field
    if name is None or can_read_unset(spec):
        return
    counted = spec.response.total_path is not None and spec.paging.total_kind is not TotalKind.ESTIMATE
    found.degrade(
        counted,
        f"no NOT EXISTS and no NOT RANGE of {name!r}: a window split by it fails if its totals show records without it",
    )
    found.warn(
        not counted,
        f"slicing.split_field: records without {name!r} can neither be asked for nor counted, so every window split by "
        f"it fails; add render rules that write NOT EXISTS or NOT RANGE of {name!r}, or a total that is no estimate",
    )
