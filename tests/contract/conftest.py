"""One migrated database per kind for the whole session, emptied before each test; two workers on it."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy.engine import make_url

from ingest_core.store.engine.database import Database
from ingest_core.store.schema.dictionary import seed_dictionary
from ingest_core.store.schema.versions import upgrade_schema
from tests.conftest import DatabaseFactory
from tests.support.books import source_rows
from tests.support.breaking import together
from tests.support.tables import clear
from tests.support.wiring import Stores, wire


class MigratedDatabases:
    """The session's migrated databases, each with two workers' connections, made when first asked for."""

    def __init__(self, factory: DatabaseFactory) -> None:
        self._factory = factory
        self._workers: dict[str, tuple[Database, Database]] = {}

    def workers(self, dialect: str) -> tuple[Database, Database]:
        """Two workers on the one database of that kind."""
        if dialect not in self._workers:
            url = make_url(self.fresh(dialect))
            if dialect == "postgresql":  # what it promises but for a power cut, in less time
                url = url.update_query_dict({"options": "-c synchronous_commit=off"})
            text = url.render_as_string(hide_password=False)
            self._workers[dialect] = Database(text), Database(text)
        return self._workers[dialect]

    def fresh(self, dialect: str) -> str:
        """Another migrated database: two upgraded it at once, as two deployments would."""
        url = self._factory.fresh(dialect)
        workers = [Database(url), Database(url)]
        try:
            together(*(partial(upgrade_schema, worker) for worker in workers))
            together(*(partial(seed_dictionary, worker) for worker in workers))
        finally:
            for worker in workers:
                worker.close()
        return url

    def close(self) -> None:
        """Give every connection back."""
        for pair in self._workers.values():
            for worker in pair:
                worker.close()


@pytest.fixture(scope="session")
def migrated(database_factory: DatabaseFactory) -> Iterator[MigratedDatabases]:
    """The session's migrated databases."""
    databases = MigratedDatabases(database_factory)
    yield databases
    databases.close()


@pytest.fixture
def database(dialect: str, migrated: MigratedDatabases) -> Database:
    """A migrated database without a row."""
    first, second = migrated.workers(dialect)
    first.clock_shift = second.clock_shift = timedelta(0)
    clear(first)
    return first


@pytest.fixture
def other(database: Database, dialect: str, migrated: MigratedDatabases) -> Database:
    """The same database over another worker's connections; its clock may be shifted."""
    return migrated.workers(dialect)[1]


@pytest.fixture
def stores(database: Database) -> Stores:
    """A worker."""
    return wire(database)


@pytest.fixture
def others(other: Database) -> Stores:
    """Another worker on the same database."""
    return wire(other)


@pytest.fixture
def registered(stores: Stores) -> Stores:
    """A worker, with the test source in the Registry."""
    stores.registry.apply([source_rows()])
    return stores
