"""NCBI's limits: three requests a second, ten with a key, and the headers that say so."""

from deployments.sandbox.pubmed.form import Form

WITHOUT_KEY, WITH_KEY = 3, 10
STEADY = {
    "server": "Finatra",
    "access-control-allow-origin": "*",
    "cache-control": "private",
    "content-security-policy": "upgrade-insecure-requests",
    "ncbi-phid": "D0BD21DF8F16D6C50000260357D4FB09.1.1.m_1",
    "ncbi-sid": "6AD0A3E4AABCFE7A_B0DFSID",
}
REFUSED_KEY = "invalid"


def good_key(form: Form) -> bool:
    """True without a key, or with one NCBI would know; the sandbox refuses those that begin with `invalid`."""
    if "api_key" not in form.values:
        return True
    key = form.text("api_key")
    return bool(key) and not key.startswith(REFUSED_KEY)


def limit_for(form: Form, enforced: int | None) -> int | None:
    """Requests a second this caller may make; None when nothing is enforced."""
    if enforced is None:
        return None
    return enforced if "api_key" in form.values else min(enforced, WITHOUT_KEY)


def limit_headers(form: Form, enforced: int | None) -> dict[str, str]:
    """The headers of every answer."""
    usual = WITH_KEY if "api_key" in form.values else WITHOUT_KEY
    limit = usual if enforced is None else limit_for(form, enforced) or usual
    return {**STEADY, "x-ratelimit-limit": str(limit), "x-ratelimit-remaining": str(max(limit - 1, 0))}
