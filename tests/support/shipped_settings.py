"""The environment variables that mean something: Prefect's, those of its Redis, and ours."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"\b(?:PATRA|PREFECT)_[A-Z0-9_]*[A-Z0-9]\b")
_TABLE_ROW = re.compile(r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \|", re.MULTILINE)


def known_variables() -> set[str]:
    """Every variable that Prefect or Patra reads."""
    from prefect.settings import Settings
    from prefect.settings.legacy import _get_settings_fields
    from prefect_redis.client import RedisMessagingSettings

    redis = {f"PREFECT_REDIS_MESSAGING_{field.upper()}" for field in RedisMessagingSettings.model_fields}
    return {*_get_settings_fields(Settings), *redis, *_told()}


def _told() -> set[str]:
    """What docs/reference/settings.md explains; a test of that page keeps it true."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    return {name.strip("` ") for row in _TABLE_ROW.findall(page) for name in row.split(",")}


def unknown_variables(text: str) -> set[str]:
    """The names in a text that look like settings and are none."""
    return set(NAME.findall(text)) - known_variables()
