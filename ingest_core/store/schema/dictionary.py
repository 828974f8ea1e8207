"""The dictionary's codes, kept in step with the code's."""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from ingest_core.model.dictionary import DICTIONARY
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import sys_dict_item, sys_dict_type


def seed_dictionary(database: Database, installed: Mapping[str, Iterable[str]] | None = None) -> int:
    """Add every code the dictionary lacks, and those that others have installed; how many."""
    return database.transact(lambda connection: _seed(database, connection, installed or {}))


def _codes(installed: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    ours = {name: [item.value for item in items] for name, items in DICTIONARY.items()}
    return {name: [*codes, *sorted(set(installed.get(name, ())) - set(codes))] for name, codes in ours.items()}


def _seed(database: Database, connection: sa.Connection, installed: Mapping[str, Iterable[str]]) -> int:
    now = database.now(connection)
    stamps = {"created_at": now, "updated_at": now}
    known_types = set(connection.execute(sa.select(sys_dict_type.c.type_code)).scalars())
    known_items = {
        tuple(row) for row in connection.execute(sa.select(sys_dict_item.c.type_code, sys_dict_item.c.item_code))
    }
    types = [
        {"type_code": code, "type_name": code.replace("_", " "), **stamps}
        for code in DICTIONARY
        if code not in known_types
    ]
    items = [
        {"type_code": code, "item_code": item, "item_name": item, "sort_no": number, **stamps}
        for code, items in _codes(installed).items()
        for number, item in enumerate(items, start=1)
        if (code, item) not in known_items
    ]
    if types:
        connection.execute(sa.insert(sys_dict_type), types)
    if items:
        connection.execute(sa.insert(sys_dict_item), items)
    return len(types) + len(items)
