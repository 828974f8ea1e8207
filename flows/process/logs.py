"""Log lines for people or for machines, on stderr."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from ingest_core.model.instant import format_instant
from ingest_core.model.visible import visible, visible_json, visible_lines
from ingest_core.settings import Settings


class VisibleRecord(logging.LogRecord):
    """A record whose message is one line, and whose traceback cannot pass for other records.

    A handler of whatever library formats its records by these two, so that no handler needs to know.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.exc_info and self.exc_info[0] is None:
            self.exc_info = None  # logged outside of an `except`: there is no trace, only the text "NoneType: None"
        if self.exc_info:
            trace = _TRACES.formatException(self.exc_info)
            self.exc_text = "\n".join(f"    {line}" for line in visible_lines(trace).split("\n"))

    def getMessage(self) -> str:  # noqa: N802 - logging's name
        """The message, with escapes for line breaks and control characters."""
        return visible(super().getMessage())


_TRACES = logging.Formatter()


def make_records_visible() -> None:
    """Let no value that this process logs forge a line or act on a terminal, whichever handler writes it."""
    logging.setLogRecordFactory(VisibleRecord)


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        entry = {
            "time": format_instant(datetime.fromtimestamp(record.created, tz=UTC)),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return visible_json(json.dumps(entry, ensure_ascii=False))


def configure_logging(settings: Settings) -> None:
    """Send log lines to stderr in the asked form."""
    make_records_visible()
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else text)
    logging.basicConfig(level=settings.log_level, handlers=[handler], force=True)
    if settings.log_level != "DEBUG":
        logging.getLogger("alembic").setLevel(logging.WARNING)
        logging.getLogger("stamina").setLevel(logging.ERROR)  # the fetcher says it better


class EndsByState(logging.Filter):
    """Leaves out Prefect's trace of a run that ended with a state of its own, which says it in words."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is worth reading."""
        from prefect.exceptions import CancelledRun, FailedRun  # noqa: PLC0415 - slow to load, and only flows have it

        return not (record.exc_info and isinstance(record.exc_info[1], CancelledRun | FailedRun))


def end_by_state() -> None:
    """Let a run of this process that returns a failed or cancelled state end without a trace in its log."""
    logger = logging.getLogger("prefect.flow_runs")
    if not any(isinstance(one, EndsByState) for one in logger.filters):
        logger.addFilter(EndsByState())
