"""The dictionary's codes, kept in step with the code's."""

import sqlalchemy as sa

from ingest_core.model.codes import DICTIONARY
from ingest_core.store.database import Database
from ingest_core.store.tables import sys_dict_item, sys_dict_type


def seed_dictionary(database: Database) -> int:
    """Add every code the dictionary lacks; how many."""
    return database.transact(lambda connection: _seed(database, connection))


def _seed(database: Database, connection: sa.Connection) -> int:
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
        {"type_code": code, "item_code": item.value, "item_name": item.value, "sort_no": number, **stamps}
        for code, enum in DICTIONARY.items()
        for number, item in enumerate(enum, start=1)
        if (code, item.value) not in known_items
    ]
    if types:
        connection.execute(sa.insert(sys_dict_type), types)
    if items:
        connection.execute(sa.insert(sys_dict_item), items)
    return len(types) + len(items)
