"""What a provider says can neither break a page nor be drawn beside it."""

import pytest

from flows.text.markdown import LONGEST_CAPTION, caption


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plan 17: 24 slices, about 48,000 records", "plan 17: 24 slices, about 48,000 records"),
        ("answered 400: <html> <h1>Bad Request</h1><hr>nginx</html>", "answered 400: Bad Request nginx"),
        ("<img src=x onerror=alert(1)> [a](http://b) `c` **d**", "a (http://b) c d"),
        ("a < b and <unclosed", "a b and unclosed"),
    ],
)
def test_a_caption_has_no_markup(said: str, shown: str) -> None:
    assert caption(said) == shown


def test_a_caption_is_short() -> None:
    assert len(caption("w" * 1000)) == LONGEST_CAPTION
