"""Alembic's entry: migrations run on the connection they are given."""

from alembic import context

from ingest_core.store.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller owns the transaction
)
context.run_migrations()
