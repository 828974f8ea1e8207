"""How a source is gone through: page after page, window after window."""

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ingest_core.model.codes import EmptyPage, PagePosition, PaginationType, SliceStrategy, WindowMode
from ingest_core.model.instant import CALENDAR_LENGTH, EPOCH, UNIT_LENGTH, format_instant
from ingest_core.model.spec import PaginationSpec, SlicingSpec, WindowSpec
from ingest_core.registry.merge import Merged
from ingest_core.registry.problems import BlockRules, Findings
from ingest_core.registry.render import TimeText

PAGE_SIZE_SHARE = 0.7
"""A page asks for this share of the provider's cap unless the file says otherwise."""

_LOCAL_FORMAT = re.compile(r"%[scxXZ]")


def pagination_part(block: Merged, window: Merged, found: Findings) -> PaginationSpec | None:
    """How one page leads to the next."""
    rules = BlockRules("pagination", "reg_prov_pagination_cfg", found)
    code = block["pagination_type_code"]
    if not rules.need(code, "PAGINATION_MISSING", "type", None, "no pagination", "add a `pagination` block"):
        return None
    kind = PaginationType(code)
    _check_page_type(kind, block, window, rules)
    cap = block["max_page_size"]
    rules.need(cap, "PAGE_CAP_MISSING", "max_page_size", None, "the provider's cap is not said", "add max_page_size")
    size = block["page_size"] or max(1, int((cap or 1) * PAGE_SIZE_SHARE))
    rules.need(
        not cap or size <= cap, "PAGE_SIZE_ABOVE_CAP", "page_size", size,
        f"page_size {size} is above max_page_size {cap}", f"ask for at most {cap}",
    )  # fmt: skip
    _check_record_cap(kind, size, block["max_records"], rules)
    base = block["page_base"]
    return PaginationSpec(
        type=kind,
        position=block["position_code"],
        page_size=size,
        max_page=block["max_page"],
        initial_token=block["initial_token"],
        next_token_path=block["next_token_path"],
        has_more_path=block["has_more_path"],
        token_ttl_seconds=block["token_ttl_seconds"],
        next_url_path=block["next_url_path"],
        step_path=block["step_path"],
        page_base=base or 0,
        max_records=block["max_records"],
        ascending=block["ascending"],
        tail_probe=block["tail_probe"],
        next_hosts=block["next_hosts"] or [],
        max_page_bytes=block["max_page_bytes"],
        # rows from before this key existed do not have it, and mean END; files write CONTINUE out
        empty_page=block["empty_page_code"] or EmptyPage.END,
        total_kind=block["total_kind_code"],
        max_shortfall=block["max_shortfall"],
        restart_statuses=block["restart_statuses"] or [],
    )


def _check_record_cap(kind: PaginationType, size: int, cap: int | None, rules: BlockRules) -> None:
    """An offset is asked for as many records as are left; a numbered page is always as long as the others."""
    fits = kind != PaginationType.PAGE or cap is None or cap % size == 0
    divisor = next(one for one in range(min(size, cap or size), 0, -1) if (cap or size) % one == 0)
    rules.need(
        fits, "PAGE_SIZE_NOT_DIVIDING", "page_size", size,
        f"page_size {size} does not divide max_records {cap}: the last page would ask for records beyond it",
        f"use page_size {divisor}",
    )  # fmt: skip


def _check_page_type(kind: PaginationType, block: Merged, window: Merged, rules: BlockRules) -> None:
    rules.need(
        kind != PaginationType.TOKEN or block["next_token_path"], "NEXT_TOKEN_MISSING", "next_token", None,
        "pagination TOKEN needs next_token", "add the path of the next page's token",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.URL or block["next_url_path"], "NEXT_URL_MISSING", "next_url", None,
        "pagination URL needs next_url", "add the path of the next page's URL",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.PAGE or block["page_base"] is not None, "PAGE_BASE_MISSING", "page_base", None,
        "pagination PAGE needs the number of its first page", "add page_base: 0 or 1",
    )  # fmt: skip
    driven = [name for name in ("next_token", "next_url") if block[f"{name}_path"]]
    counted = kind in (PaginationType.PAGE, PaginationType.OFFSET)
    rules.need(
        not (counted and driven) and len(driven) <= 1, "PAGINATION_MIXED", "type", kind.value,
        f"{kind} does not go with {' and '.join(driven)}", "keep one way of paging",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.OFFSET or block["position_code"] == PagePosition.CLIENT.value, "OFFSET_POSITION",
        "position", block["position_code"], "an offset is ours, not the provider's", "set position: CLIENT",
    )  # fmt: skip
    timed = window["supports_updated_since"] or window["stable_order"]
    rules.need(
        kind != PaginationType.TIME or timed, "TIME_PAGING_UNORDERED", "type", kind.value,
        "pagination TIME needs a time filter or a steady order", "set window.supports_updated_since or stable_order",
    )  # fmt: skip


def window_part(block: Merged, found: Findings) -> WindowSpec | None:
    """The time field harvests move along."""
    rules = BlockRules("window", "reg_prov_window_offset_cfg", found)
    missing = [
        key
        for key, column in (
            ("field", "offset_field_name"),
            ("watermark_key", "watermark_key"),
            ("step", "step_seconds"),
            ("unit", "time_unit_code"),
            ("format", "time_format"),
            ("upper_inclusive", "upper_inclusive"),
        )
        if block[column] is None
    ]
    for key in missing:
        rules.add("WINDOW_INCOMPLETE", key, None, f"the window has no {key}", f"add window.{key}")
    if missing:
        return None
    spec = _window_spec(block)
    _check_window(spec, rules)
    _check_bounds(spec, rules)
    rules.need(
        spec.supports_updated_since or block["stable_order"], "WINDOW_UNORDERED", "stable_order", "false",
        "without a time filter, records must come in a steady order of time to be filtered here",
        "set window.stable_order: true if the provider promises it, or serve only UPDATE",
    )  # fmt: skip
    return spec


def _window_spec(block: Merged) -> WindowSpec:
    lookback, baseline = block["lookback_seconds"], block["baseline_at"]
    recheck = block["recheck_seconds"]
    return WindowSpec(
        mode=block["window_mode_code"],
        field=block["offset_field_name"],
        watermark_key=block["watermark_key"],
        lag_seconds=block["watermark_lag_seconds"],
        lookback_seconds=lookback,
        recheck_seconds=lookback // 4 if recheck is None else recheck,
        window_size_seconds=block["window_size_seconds"],
        step_seconds=block["step_seconds"],
        overlap_seconds=block["overlap_seconds"],
        baseline=format_instant(baseline) if isinstance(baseline, datetime) else baseline,
        align_to=block["calendar_align_to"],
        unit=block["time_unit_code"],
        format=block["time_format"],
        upper_inclusive=block["upper_inclusive"],
        stored_precision=block["stored_precision_code"],
        time_zone=block["time_zone"],
        supports_updated_since=block["supports_updated_since"],
        min_window_seconds=block["min_window_seconds"],
        max_window_seconds=block["max_window_seconds"],
    )


def _check_window(spec: WindowSpec, rules: BlockRules) -> None:
    unit, step, times = UNIT_LENGTH[spec.unit], timedelta(seconds=spec.step_seconds), TimeText(spec.format)
    rules.need(
        step >= unit and step % unit == timedelta(0), "STEP_NOT_WHOLE", "step", str(step),
        f"step {step} is not a multiple of {spec.unit}", f"use whole {spec.unit.lower()}s",
    )  # fmt: skip
    rules.need(
        times.write(EPOCH) != times.write(EPOCH + unit), "FORMAT_TOO_COARSE", "format",
        spec.format, f"format {spec.format!r} does not tell one {spec.unit} from the next",
        "write it as strftime does, to the unit",
    )  # fmt: skip
    rules.need(
        not _LOCAL_FORMAT.search(spec.format), "FORMAT_LOCAL", "format", spec.format,
        f"format {spec.format!r} means another thing on another machine", "use epoch_seconds or epoch_millis for %s",
    )  # fmt: skip
    rules.need(
        spec.window_size_seconds > 0, "WINDOW_SIZE_ZERO", "window_size", 0, "window_size must be above 0",
        "say how far back a first harvest reads, such as P1D",
    )  # fmt: skip
    rules.need(
        spec.mode != WindowMode.CALENDAR or spec.align_to is not None, "ALIGNMENT_MISSING", "align_to", None,
        "mode CALENDAR needs align_to", "add window.align_to, such as DAY",
    )  # fmt: skip
    coarse = spec.align_to and CALENDAR_LENGTH[spec.align_to] > timedelta(seconds=spec.window_size_seconds)
    rules.need(
        not coarse, "ALIGNMENT_TOO_COARSE", "align_to", spec.align_to,
        f"windows of {timedelta(seconds=spec.window_size_seconds)} cannot be aligned to {spec.align_to}",
        "align to a smaller unit, or make window_size larger",
    )  # fmt: skip
    rules.need(
        zone_exists(spec.time_zone), "TIME_ZONE_UNKNOWN", "time_zone", spec.time_zone,
        f"no time zone {spec.time_zone!r}", "use a name such as UTC or America/New_York",
    )  # fmt: skip


def _check_bounds(spec: WindowSpec, rules: BlockRules) -> None:
    least, most = spec.min_window_seconds, spec.max_window_seconds
    rules.need(
        least is None or most is None or least <= most, "WINDOW_BOUNDS_CROSSED", "min_window", least,
        f"min_window {least} s is above max_window {most} s", "let min_window be the smaller",
    )  # fmt: skip
    rules.need(
        most is None or spec.step_seconds <= most, "STEP_ABOVE_MAX", "step", spec.step_seconds,
        f"step {spec.step_seconds} s is above max_window {most} s", "use a smaller step",
    )  # fmt: skip
    unit_seconds = UNIT_LENGTH[spec.unit].total_seconds()
    rules.need(
        least is None or least >= unit_seconds, "MIN_WINDOW_TOO_SMALL", "min_window", least,
        f"min_window is smaller than the filter's {spec.unit}", f"use at least one {spec.unit.lower()}",
    )  # fmt: skip


AVAILABLE = frozenset({SliceStrategy.TIME.value})
"""Slice strategies assumed where the installed ones are not known."""


def slicing_part(block: Merged, strategies: frozenset[str] | None, found: Findings) -> SlicingSpec:
    """How windows are cut; a strategy that has a code but no code behind it is refused."""
    rules = BlockRules("slicing", "reg_prov_slicing_cfg", found)
    code, known = block["slice_strategy_code"], (strategies or AVAILABLE) - {SliceStrategy.ID_RANGE.value}
    rules.need(
        code in known, "STRATEGY_UNAVAILABLE", "strategy", code, f"slicing by {code} is not available here",
        f"use {' or '.join(sorted(known))}",
    )  # fmt: skip
    return SlicingSpec(
        strategy=code,
        target_records=block["target_records"],
        probe_budget=block["probe_budget"],
        split_field=block["split_field_name"],
        split_max=block["split_max"],
        max_queued=block["max_queued"],
        id_buckets=block["id_buckets"],
    )


def zone_exists(name: str) -> bool:
    """Whether it is a time zone's name."""
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return False
    return True
