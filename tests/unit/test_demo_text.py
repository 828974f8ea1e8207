"""What the demo shows adds up, and fits 80 columns."""

from typing import Any

import pytest

from flows.cli import demo, screen
from flows.cli.screen import Screen


def harvest(number: int, **records: int) -> dict[str, Any]:
    instant = "2026-01-09T06:00:00.000000Z"
    return {
        "title": f"harvest {number}",
        "window": {"from": instant, "to": instant},
        "slices": 1,
        "pages": 1,
        "records": {"updated": 0, "skipped": 0, "gone": 0, **records},
        "quarantined_again": 2,
        "watermark": {"before": None, "after": instant},
        "seconds": 1.5,
    }


SUMMARY = {
    "rounds": [
        harvest(1, received=4_262, inserted=3_863, skipped=233, quarantined=166),
        harvest(2, received=182, inserted=127, updated=41, skipped=4, quarantined=10),
    ],
    "before": {"stored": 0, "quarantined": 0},
    "check": {
        "stored": 3_990,
        "usable": 3_990,
        "items_right": 3_990,
        "quarantined": 172,
        "unusable": 172,
        "quarantined_right": 172,
    },
    "example": {"id": "10.1/x", "updated_at": "2026-01-01T00:00:00.000000Z", "record": {"title": "On herons"}},
    "complete": True,
    "database": "sqlite:////data/.patra/demo.db",
    "seconds": 38.1,
}


def test_the_totals_add_up_and_the_last_lines_say_what_to_try(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "console", Screen(highlight=False, width=80))
    monkeypatch.setattr(demo, "console", screen.console)
    demo._show(SUMMARY)
    lines = capsys.readouterr().out.splitlines()
    first = lines.index("records received") + 3
    rows = [[int(cell.replace(",", "")) for cell in line.split()[-3:]] for line in lines[first : first + 7]]

    assert all(one[0] + one[1] == one[2] for one in rows)
    assert [sum(column[1:]) for column in zip(*rows, strict=True)] == rows[0]
    assert [line.split() for line in lines if line.startswith(("stored", "quarantined "))][1:] == [
        ["quarantined", "again", "2", "2", "4"],
        ["stored", "3,990", "3,990"],
        ["quarantined", "172", "172"],
    ]
    assert "title    On herons" in lines
    assert [line.split("patra ", 1)[1].split()[0] for line in lines[-6:]] == [
        "status",
        "quarantine",
        "cursor",
        "items",
        "demo",
        "up",
    ]
    assert [line for line in lines if len(line) > 80 and not line.startswith("complete: ")] == []
