"""Help pages: plain text that fits the terminal, flags without a type, commands grouped by purpose."""

import inspect
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, StrEnum
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from ingest_core.model.whole_number import LARGEST_COUNT, LARGEST_ID

WIDEST = 100
"""Longer lines are hard to read, however wide the terminal is."""

INDENT = "  "
LONGEST_NAME = 26
"""An option with its value that is longer has its text on the next line."""

Entry = tuple[str, str]


class Heading(StrEnum):
    """What people do: the headings of `patra --help`, in its order."""

    TRY = "Try it"
    HARVEST = "Harvest"
    CONTROL = "Control and repair"
    RECORDS = "Records"
    SOURCES = "Sources"
    INSTALL = "Installation"


class Command(TyperCommand):
    """A command whose help page is ours."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        formatter.write(help_page(self, ctx, _terminal_width()))


class Group(TyperGroup):
    """A group of commands whose help page is ours."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        formatter.write(help_page(self, ctx, _terminal_width()))


class CommandTree(typer.Typer):
    """Commands and groups with our help pages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cls=Group, no_args_is_help=True, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Register a command; `rich_help_panel` is the heading it is listed under."""
        return super().command(name, cls=Command, **options)


def _terminal_width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def help_page(command: Any, ctx: Any, width: int) -> str:
    """The page: usage, what the command does, arguments, options, commands by heading, an example."""
    params = [param for param in command.get_params(ctx) if not param.hidden]
    arguments = [param for param in params if isinstance(param, TyperArgument)]
    options = [param for param in params if isinstance(param, TyperOption)]
    blocks = [
        _usage(command, ctx, arguments, options, width),
        *(_filled(paragraph, width) for paragraph in inspect.cleandoc(command.help or "").split("\n\n")),
        *(_section(heading, entries, width) for heading, entries in _commands(command, ctx).items()),
        _section("Arguments", [(_value(one), _about(one, ctx)) for one in arguments], width),
        _section("Options", [_option(one, ctx) for one in options], width),
        _filled(command.epilog or "", width),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _usage(command: Any, ctx: Any, arguments: list[TyperArgument], options: list[TyperOption], width: int) -> str:
    names = [_value(one) if one.required else f"[{_value(one)}]" for one in arguments]
    needed = [_names(one) for one in options if one.required]
    rest = ["COMMAND [ARGS]..."] if isinstance(command, TyperGroup) else []
    return _filled(" ".join(["Usage:", ctx.command_path, "[OPTIONS]", *needed, *names, *rest]), width)


def _commands(command: Any, ctx: Any) -> dict[str, list[Entry]]:
    """The commands of a group, by heading."""
    found: dict[str, list[Entry]] = {heading.value: [] for heading in Heading}
    for name, child in getattr(command, "commands", {}).items():
        told = inspect.cleandoc(child.help or "").split("\n\n")[0]
        found.setdefault(child.rich_help_panel or "Commands", []).append((name, told))
    return found


def _option(option: TyperOption, ctx: Any) -> Entry:
    return _names(option), _about(option, ctx)


def _names(option: TyperOption) -> str:
    """`--limit N`, or `--json` for a flag."""
    names = ", ".join(sorted(option.opts, key=len))
    return names if option.is_flag else f"{names} {_value(option)}"


def _value(param: TyperArgument | TyperOption) -> str:
    """What stands for the value: its metavar, else a word for its type."""
    kind = param.type_descriptor
    if param.metavar:
        return param.metavar
    if isinstance(param, TyperArgument):
        return str(param.name).upper() + ("..." if param.nargs == -1 else "")
    if kind.is_path:
        return "FILE"
    if kind.is_ranged:
        return "N"
    return str(param.name).upper() if kind.is_choice else "TEXT"


def _about(param: TyperArgument | TyperOption, ctx: Any) -> str:
    """The help text, the choices, the bounds and the default."""
    kind = param.type_descriptor
    facts = [
        ", ".join(_shown(one) for one in kind.choices) if kind.choices else "",
        _bounds(param.min, param.max),
        _default(param, ctx),
        "required" if param.required and isinstance(param, TyperOption) else "",
    ]
    told = "; ".join(fact for fact in facts if fact)
    return f"{param.help or ''}{f' [{told}]' if told else ''}".strip()


def _bounds(least: float | None, most: float | None) -> str:
    """The bounds that a person can meet: not those of the database's whole numbers."""
    if most is None or most in (LARGEST_COUNT, LARGEST_ID):
        return "" if least is None or least <= 1 else f"at least {least:,}"
    return f"{least:,} to {most:,}" if least is not None else f"at most {most:,}"


def _default(param: TyperArgument | TyperOption, ctx: Any) -> str:
    value = param.get_default(ctx, call=False)
    if not param.show_default or value is None or value == [] or getattr(param, "is_flag", False):
        return ""
    return f"default: {_shown(value)}"


def _shown(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _section(heading: str, entries: list[Entry], width: int) -> str:
    """A heading, and under it names with their texts in a second column."""
    if not entries:
        return ""
    left = max((len(name) for name, _ in entries if len(name) <= LONGEST_NAME), default=0) + 2 * len(INDENT)
    lines = (line for name, text in entries for line in _entry(name, text, left, width))
    return "\n".join([f"{heading}:", *lines])


def _entry(name: str, text: str, left: int, width: int) -> Iterator[str]:
    lines = _wrapped(text, width - left)
    first = f"{INDENT}{name}".ljust(left)
    if len(first) > left or not lines:
        yield first.rstrip()
        first = ""
    for line in lines:
        yield f"{first:<{left}}{line}"
        first = ""


def _filled(text: str, width: int) -> str:
    return "\n".join(_wrapped(text, width))


def _wrapped(text: str, width: int) -> Iterable[str]:
    """Lines that break at spaces only: an option or a file name stays whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
