"""What a command prints is what there is: nothing in a value is taken for markup."""

import pytest
from rich.console import Console

from flows.cli import screen


def test_values_that_look_like_markup_are_shown_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "console", Console(highlight=False, width=200))
    screen.print_table("rules of [x]", ("template",), [("{value}[tiab]",), ("page[size]",), ("[/y]",)])
    screen.print_facts("facts [/z]", [("title", "[bold]no[/bold] [/x]")])
    shown = capsys.readouterr().out

    for text in ("rules of [x]", "{value}[tiab]", "page[size]", "[/y]", "facts [/z]", "[bold]no[/bold] [/x]"):
        assert text in shown
