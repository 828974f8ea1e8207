"""What sources lack before they can be harvested: a contact, keys, a way to their providers."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum

from ingest_core.execution.ports import NotSent
from ingest_core.inspection.ports import ReachableUpstream
from ingest_core.model.spec import HttpSpec, SpecSnapshot

CONNECT_SECONDS = 5.0
"""How long a provider may take to accept a connection."""
_CONTACT = "{contact}"


class LackKind(StrEnum):
    """What is missing."""

    CONTACT = "CONTACT"
    SOURCE = "SOURCE"
    KEY = "KEY"
    PROVIDER = "PROVIDER"


@dataclass(frozen=True)
class Lack:
    """Something that is missing, and which sources lack it."""

    kind: LackKind
    sources: tuple[str, ...]
    message: str

    def json(self) -> dict[str, object]:
        """As scripts read it."""
        return {"kind": self.kind.value, "sources": list(self.sources), "message": self.message}


def missing_contact(specs: Iterable[SpecSnapshot], contact: str | None) -> list[Lack]:
    """Which sources have a place for a contact, where none is set."""
    told = tuple(sorted({one.provenance_code for one in specs if _CONTACT in f"{one.http.headers}{one.http.query}"}))
    if contact or not told:
        return []
    message = f"PATRA_CONTACT is not set: {', '.join(told)} send it to their providers. Set it to your e-mail address."
    return [Lack(LackKind.CONTACT, told, message)]


def missing_keys(
    specs: Iterable[SpecSnapshot], upstream: ReachableUpstream, kinds: Callable[[str], bool]
) -> list[Lack]:
    """Which credentials cannot be read, of those whose reference is of these kinds (`env`, `prefect`)."""
    found: dict[tuple[str, str], Lack] = {}
    for spec in specs:
        for reference in (spec.auth.username_ref, spec.auth.credential_ref):
            place = (spec.provenance_code, reference or "")
            if reference is None or place in found or not kinds(reference.partition(":")[0]):
                continue
            why = upstream.why_missing(reference)
            if why:
                how = "optional: requests are" if spec.auth.optional else "required: no request is"
                message = f"source {spec.provenance_code}: {why} ({how} sent without it)"
                found[place] = Lack(LackKind.KEY, (spec.provenance_code,), message)
    return list(found.values())


def unreachable_providers(specs: Iterable[SpecSnapshot], upstream: ReachableUpstream) -> list[Lack]:
    """Which providers accept no connection; all are tried at once, and no request is sent."""
    places = {(one.provenance_code, one.http.base_url): one.http for one in specs}
    if not places:
        return []
    pool = ThreadPoolExecutor(max_workers=len(places))
    tried = {pool.submit(_why_unreachable, upstream, code, http): code for (code, _), http in places.items()}
    done, _ = wait(tried, timeout=2 * CONNECT_SECONDS)
    pool.shutdown(wait=False, cancel_futures=True)
    slow = f"no connection within {2 * CONNECT_SECONDS:g} s"
    failed = [(code, attempt.result() if attempt in done else slow) for attempt, code in tried.items()]
    return [
        Lack(LackKind.PROVIDER, (code,), f"source {code}: its provider was not reached: {why}")
        for code, why in sorted(failed, key=lambda one: one[0])
        if why
    ]


def _why_unreachable(upstream: ReachableUpstream, source: str, http: HttpSpec) -> str | None:
    try:
        upstream.reach(source, http, CONNECT_SECONDS)
    except NotSent as error:
        return str(error)
    return None
