"""The database behind an application, for tests that read its tables or shift its clock."""

from ingest_core.bootstrap import App
from ingest_core.store.engine.database import Database


def database_of(app: App) -> Database:
    """The adapter behind the port."""
    assert isinstance(app.database, Database)
    return app.database
