"""The HTML pages a proxy puts before a provider answers when it will not."""

from http import HTTPStatus

from deployments.sandbox.provider import Reply

HTML = {"content-type": "text/html"}


def error_page(status: int, retry_after: float | None = None) -> Reply:
    """An error as a proxy words it: HTML, without the provider's headers."""
    title = f"{status} {_phrase(status)}"
    headers = HTML if retry_after is None else {**HTML, "retry-after": f"{retry_after:g}"}
    return Reply(status=status, body=_html(title), headers=headers)


def maintenance_page() -> Reply:
    """A 200 that is no JSON."""
    return Reply(status=HTTPStatus.OK, body=_html("Service temporarily unavailable"), headers=HTML)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _html(title: str) -> bytes:
    return (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    ).encode()
