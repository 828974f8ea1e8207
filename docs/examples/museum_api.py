"""A museum's catalogue as a web API for docs/tutorials/adding-a-source.md: python docs/examples/museum_api.py"""  # noqa: INP001

import argparse
import socket
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

KEY = "let-me-in"
LARGEST_PAGE = 50
OPENING = datetime(2026, 1, 1, tzinfo=UTC)
WITHHELD = (13, 53, 93)
DEPARTMENTS = ("Ceramics", "Prints", "Textiles")


def _object(number: int) -> dict[str, Any]:
    """One object of the collection; a change every 37 minutes, told in milliseconds since 1970."""
    changed = OPENING + timedelta(minutes=37 * number)
    return {
        "objectNumber": f"1984.{number:03d}",
        "name": f"Vase with {number} herons",
        "makers": [{"given": "Ida", "family": "Holm"}, {"workshop": "Holm & Daughters"}],
        "made": "undated" if number % 7 == 0 else f"{1850 + number}-05",
        "department": DEPARTMENTS[number % len(DEPARTMENTS)],
        "changed": round(changed.timestamp() * 1000),
        **({"withheld": "its owner is being looked for"} if number in WITHHELD else {}),
    }


OBJECTS = [_object(number) for number in range(120)]


async def search(request: Request) -> JSONResponse:
    """POST /search: what changed in [changedSince, changedBefore), a page at a time; page 0 is the first."""
    if request.headers.get("x-museum-key") != KEY:
        return JSONResponse({"fault": "who are you?"}, status_code=401)
    asked = await request.json()
    page, size = int(asked.get("page", 0)), int(asked.get("size", 10))
    if size > LARGEST_PAGE:
        return JSONResponse({"fault": f"a page has at most {LARGEST_PAGE} objects"})  # with status 200, as APIs do
    found = [one for one in OBJECTS if _matches(one, asked)]
    return JSONResponse({"hits": {"count": len(found), "objects": found[page * size : (page + 1) * size]}})


def _matches(one: dict[str, Any], asked: dict[str, Any]) -> bool:
    since, before = (_milliseconds(asked.get(name)) for name in ("changedSince", "changedBefore"))
    return (
        (since is None or since <= one["changed"])
        and (before is None or one["changed"] < before)
        and asked.get("department") in (None, one["department"])
        and all(word in one["name"].lower() for word in asked.get("words", "").lower().split())
    )


def _milliseconds(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp() * 1000


def main() -> None:
    """Serve on loopback until interrupted; the first line printed is the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8100, help="0 picks a free one")
    listener = socket.create_server(("127.0.0.1", parser.parse_args().port))
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    app = Starlette(routes=[Route("/search", search, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    main()
