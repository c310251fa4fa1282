"""Runs the migrations on a connection.

Owns: how alembic is set up. Never: opening the daemon's database or ending its transaction; the
daemon hands in a connection with a transaction open (`app/storage/schema_version.py`). On the
command line, name a database: `alembic -x url=sqlite:////tmp/new.db upgrade head`.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, create_engine
from sqlmodel import SQLModel

import app.storage.models
from app.storage.repositories.issue_search import is_search_table

assert app.storage.models.__all__  # its import fills the metadata


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=SQLModel.metadata,
        # SQLite cannot alter a column: the table is built anew.
        render_as_batch=connection.dialect.name == "sqlite",
        compare_server_default=True,
        # Made from others, and no part of the models.
        include_name=lambda name, kind, _: kind != "table" or not is_search_table(name),
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    engine = create_engine(context.get_x_argument(as_dictionary=True)["url"])
    with engine.begin() as connection:
        run(connection)
