"""Every command explains itself."""

import contextlib
import io

import pytest

from flows.cli.main import run


@pytest.mark.parametrize(
    "command",
    [
        (),
        ("demo",),
        ("deploy",),
        ("up",),
        ("db", "upgrade"),
        ("registry", "apply"),
        ("registry", "show"),
        ("registry", "list"),
        ("plan",),
        ("execute",),
        ("status",),
        ("worker",),
        ("cursor", "list"),
        ("quarantine", "list"),
        ("quarantine", "show"),
        ("quarantine", "export"),
        ("quarantine", "retry"),
        ("quarantine", "release"),
        ("quarantine", "discard"),
        ("items", "export"),
        ("outbox", "relay"),
        ("outbox", "list"),
        ("outbox", "retry"),
        ("outbox", "prune"),
    ],
)
def test_every_command_helps_with_an_example(command: tuple[str, ...]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run([*command, "--help"]) == 0
    shown = printed.getvalue()
    assert "Usage: patra" in shown
    if command:
        assert "Example: " in shown
        assert "--json" in shown
