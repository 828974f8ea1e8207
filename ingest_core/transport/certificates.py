"""A source's own certificates: a regular file of a bounded size, so that no device or FIFO holds a request."""

import os
import ssl
import stat

from ingest_core.model.errors import BadInput

MOST_BYTES = 10_000_000


def trusting(ca_bundle: str) -> ssl.SSLContext:
    """TLS that trusts the certificates of a PEM file; BadInput says why they cannot be read."""
    try:
        text = _read(ca_bundle).decode("ascii", "ignore")  # what is not ASCII is a comment between certificates
        return ssl.create_default_context(cadata=text)
    except OSError as error:
        raise _unreadable(ca_bundle, error.strerror or str(error)) from error
    except ValueError as error:
        raise _unreadable(ca_bundle, str(error)) from error


def _read(ca_bundle: str) -> bytes:
    # Opening a FIFO would wait for its writer.
    handle = os.open(ca_bundle, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a regular file")
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    if b"-----BEGIN" not in content:
        raise ValueError("it holds no PEM certificate")
    return content


def _unreadable(ca_bundle: str, why: str) -> BadInput:
    return BadInput(
        "CA_BUNDLE_UNREADABLE",
        f"no certificates can be read from {ca_bundle!r}: {why}",
        where="http.ca_bundle",
        remedy="name a file of PEM certificates that this worker can read",
    )
