"""The floor: a hand-written harvest with no ledger, no lease, no quarantine and no fetch-ahead."""

import hashlib
from datetime import datetime

import httpx
import orjson
import sqlalchemy as sa

from ingest_core.store.database import Database
from ingest_core.store.dialect import upsert

floor_item = sa.Table(
    "floor_item",
    sa.MetaData(),
    sa.Column("provider_id", sa.String(512), primary_key=True),
    sa.Column("source_updated_at", sa.String(40)),
    sa.Column("payload", sa.Text().with_variant(sa.dialects.mysql.LONGTEXT(), "mysql")),
    sa.Column("payload_hash", sa.String(64)),
)


def harvest_floor(database: Database, base_url: str, start: datetime, end: datetime, rows: int) -> int:
    """Every work of the window by one scroll, upserted page by page; how many came."""
    with database.write() as connection:
        floor_item.metadata.drop_all(connection)
        floor_item.metadata.create_all(connection)
    bounds = f"from-index-date:{start:%Y-%m-%dT%H},until-index-date:{end:%Y-%m-%dT%H}"
    statement = upsert(
        database.dialect_name, floor_item, ("provider_id",), ("source_updated_at", "payload", "payload_hash")
    )
    cursor, count = "*", 0
    with httpx.Client(trust_env=False, timeout=60) as client:
        while True:
            query = {"filter": bounds, "rows": str(rows), "cursor": cursor}
            message = orjson.loads(client.get(f"{base_url}/works", params=query).content)["message"]
            if not message["items"]:
                return count
            with database.write() as connection:
                connection.execute(statement, [_row(item) for item in message["items"]])
            count += len(message["items"])
            cursor = message["next-cursor"]


def _row(item: dict[str, object]) -> dict[str, object]:
    payload = orjson.dumps(item)
    indexed = item["indexed"]
    assert isinstance(indexed, dict)
    return {
        "provider_id": str(item["DOI"]).lower(),
        "source_updated_at": indexed.get("date-time"),
        "payload": payload.decode(),
        "payload_hash": hashlib.sha256(payload).hexdigest(),
    }
