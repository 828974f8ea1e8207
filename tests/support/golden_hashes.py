"""Hashes as they have always been, and those of every shipped source as this interpreter finds them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import Operation
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.support.compiling import compile_spec
from tests.support.specs import NOW

SHANGHAI = timezone(timedelta(hours=8))

GOLDEN: dict[str, tuple[tuple[Any, ...], str]] = {
    "nothing": ((), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    "null": ((None,), "1d8fc6ceb1f94c6326d6d5483d258fcb2e179e9869325b245d105c2219bf69fd"),
    "nested": (
        ({"a": {"z": {}, "b": [1, {"e": [], "c": "d"}]}},),
        "67552bb0586e425aa408361f7d159c5e21ec3df01bfad0a4c2ea245237e00d42",
    ),
    "unicode": (("学習 Über 🜁",), "0e16b4141d993d98f09cb60dc6c957aeac5f3ceebcfdac80f453b223c2c37baa"),
    "combining": (("e\u0301",), "32860394d411eb384be988968561412199087c5fd8be3004ef5516db217fb254"),
    "escapes": (('a\n\t"\\/\x00\x1f',), "ca7db997ee0e9499bd7572e7d0811d833ee1f75687ca6de04b514a6b0a38826f"),
    "a big number": (
        (123456789012345678901234567890,),
        "afc9650f996d1e21860004d4e08fc870c7d588a5b64d708a432432d42e7cc15c",
    ),
    "below 64 bits": ((-9223372036854775809,), "b07b5c1e73922b900e59408aa65b61f44f920867b7940fbaffadd9d878b1082e"),
    "one": ((1,), "080a9ed428559ef602668b4c00f114f1a11c3f6b02a435f0bdc154578e4d7f22"),
    "one as a fraction": ((1.0,), "c2272c0a862f11de35da66ec8be34349001ddebae43b85ab1dafb188f8ad7b30"),
    "fractions": (
        ([0.1, 1.0, 1e22, -0.0, 1.5e-7],),
        "8d56fb9e8a28c73eb6a1f9049509c67cc04e5f0a4bf40419b0e3daa848d13994",
    ),
    "an instant": (
        (datetime(2026, 3, 10, 12, 0, 0, 1, tzinfo=UTC),),
        "14c5af0ca76ae703257bac05b0635a715d990dda2f8abb6e7a55f4a803d9955b",
    ),
    "it in another zone": (
        (datetime(2026, 3, 10, 20, 0, 0, 1, tzinfo=SHANGHAI),),
        "14c5af0ca76ae703257bac05b0635a715d990dda2f8abb6e7a55f4a803d9955b",
    ),
    "a span": ((timedelta(hours=1),), "208013a39fbce2d240c234362e991b4f3d5d3359dcdf32e8433be7cab211068e"),
    "a span backwards": (
        (timedelta(seconds=-0.5),),
        "0a2831600f2e78bd2348705dcf0716a2211edd149aad156a239ef46681a8d1dd",
    ),
    "several parts": (
        ("crossref", "works", None, True, 3),
        "f78cb5bb7237c4d34e6bbd8d1695de0364976f202a05fa043c0ffecf72fd3cca",
    ),
}


def all_hashes() -> dict[str, str]:
    """Every hash this test can think of: the golden ones, and the fingerprints of every shipped source."""
    found = {name: hash_of(*parts) for name, (parts, _) in GOLDEN.items()}
    for name, text in shipped_sources().items():
        rows = rows_of(read_source(text, name))
        source = rows["reg_provenance"][0]["provenance_code"]
        for row in rows["reg_prov_endpoint_def"]:
            for operation in row["operations"]:
                spec = compile_spec(rows, source, row["endpoint_name"], Operation(operation), NOW)
                found[f"{source} {row['endpoint_name']} {operation}"] = spec.fingerprint + spec.expr_proto_hash
    return found
