"""What depends on the kind of paging is asked of its paginator: no other module of a run names a kind."""

import re
from pathlib import Path

import pytest

from ingest_core.execution.paging import paginator_of
from ingest_core.model.codes import PaginationType
from tests.support.counted_pages import paging

LIBRARY = Path(__file__).parents[2] / "ingest_core"
KIND = re.compile(r"PaginationType\.(?:OFFSET|PAGE|TOKEN|URL|TIME)\b|\.type\b[^\n]*PaginationType")
MAY_NAME_KINDS = ("execution/paging/by_", "registry/", "model/")
"""The paginators, the compiler of source files, and the values both are about."""


def test_only_paginators_and_the_compiler_name_a_kind() -> None:
    modules = {path.relative_to(LIBRARY).as_posix(): path.read_text(encoding="utf-8") for path in LIBRARY.rglob("*.py")}
    naming = {name for name, text in modules.items() if KIND.search(text)}

    assert {name for name in naming if not name.startswith(MAY_NAME_KINDS)} == set()
    assert {name for name in naming if name.startswith(MAY_NAME_KINDS[0])} == {
        f"execution/paging/by_{one}.py" for one in ("link", "offset", "page", "time")
    }


@pytest.mark.parametrize("kind", PaginationType)
def test_every_kind_has_a_paginator_of_its_own(kind: PaginationType) -> None:
    paginator = paginator_of(paging(kind.value))

    assert paginator.kind is kind
    assert not (paginator.counted and paginator.linked)


@pytest.mark.parametrize(
    ("kind", "token", "asked"),
    [
        ("OFFSET", None, (3, None, None)),
        ("OFFSET", "6", (3, 6, None)),
        ("PAGE", "2", (3, 2, None)),
        ("TOKEN", "abc", (3, None, None)),
        ("URL", None, (3, None, None)),
        ("URL", "https://books.example/list?page=2", (3, None, "https://books.example/list?page=2")),
        ("TIME", None, (3, None, None)),
    ],
)
def test_a_page_is_asked_for_by_number_by_url_or_as_the_source_file_says(
    kind: str, token: str | None, asked: tuple[int, int | None, str | None]
) -> None:
    page = paginator_of(paging(kind)).request(token)

    assert (page.size, page.number, page.url) == asked
