"""Migrations: equal to the models, all or nothing, with a copy before."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlmodel import SQLModel

import app.storage.backup
import app.storage.models
from app.errors import StorageError
from app.storage import schema_version
from app.storage.backup import upgrade
from app.storage.engine import close_connection, open_database
from app.storage.repositories.issue_search import is_search_table
from app.storage.revisions import HEAD
from app.storage.storage import Storage
from tests.driver import rows

assert app.storage.models.__all__

MIGRATIONS = Path(__file__).parents[2] / "migrations"

# What a later release might bring: one migration that rebuilds a table and one that fails half-way.
_ADDS_A_COLUMN = '''
"""a later schema"""
import sqlalchemy as sa
from alembic import op
revision = "later_1"
down_revision = "HEAD"
def upgrade():
    rebuild = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    with op.batch_alter_table("sessions", recreate=rebuild) as table:
        table.add_column(sa.Column("colour", sa.String(), nullable=False, server_default="none"))
'''
_FAILS_HALF_WAY = '''
"""a later schema that cannot be made"""
import sqlalchemy as sa
from alembic import op
revision = "later_2"
down_revision = "later_1"
def upgrade():
    op.create_table("half", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("DELETE FROM messages")
    op.execute("INSERT INTO missing VALUES (1)")
'''
_ORPHANS_ROWS = _FAILS_HALF_WAY.replace(
    'op.execute("INSERT INTO missing VALUES (1)")', 'op.execute("DELETE FROM projects")'
)


@contextmanager
def connected(url: str | None, data_dir: Path) -> Iterator[Connection]:
    connection = open_database(url, data_dir).connect(exclusive=False)
    try:
        yield connection
    finally:
        close_connection(connection)


def copies(folder: Path) -> list[Path]:
    return list(folder.glob("kaged.db.backup-*"))


@pytest.fixture
def later_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make the code believe that it is a later release, with these migrations added."""

    def become(*migrations: str) -> None:
        folder = tmp_path / "migrations"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(MIGRATIONS, folder)
        later = [f"later_{number}" for number in range(1, len(migrations) + 1)]
        for revision, migration in zip(later, migrations, strict=True):
            (folder / "versions" / f"{revision}.py").write_text(migration.replace("HEAD", HEAD))
        monkeypatch.setattr(schema_version, "migrations_folder", lambda: folder)
        monkeypatch.setattr(schema_version, "REVISIONS", (*schema_version.REVISIONS, *later))
        for module in (schema_version, app.storage.backup):
            monkeypatch.setattr(module, "HEAD", later[-1])

    return become


@pytest.mark.requirement("storage.migrations")
def test_models_and_migrations_agree(empty_database: str | None, tmp_path: Path) -> None:
    with connected(empty_database, tmp_path) as connection:
        schema_version.migrate(connection)
        # The tables of the search are no models; the next test but one compares them.
        options = {
            "compare_server_default": True,
            "include_name": lambda name, kind, _: kind != "table" or not is_search_table(name),
        }
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, SQLModel.metadata) == []


def test_the_constant_of_the_newest_revision_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema_version.migrations_folder()))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [schema_version.HEAD]
    assert (
        tuple(reversed([script.revision for script in scripts.walk_revisions()])) == schema_version.REVISIONS
    )


def test_a_new_file_has_to_the_letter_the_schema_that_the_migrations_make(tmp_path: Path) -> None:
    """The daemon makes a new file from the models, because that takes a tenth of the time."""

    def schema(make: Callable[[Connection], None], folder: Path) -> list[tuple[str, str, str]]:
        folder.mkdir()
        with connected(None, folder) as connection:
            make(connection)
            found = connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY name"))
            version = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
            assert version == [schema_version.HEAD]
            return [(kind, name, "".join((sql or "").split())) for kind, name, sql in found]

    def from_models(connection: Connection) -> None:
        with connection.begin():
            schema_version.create_at_head(connection)

    assert schema(from_models, tmp_path / "a") == schema(schema_version.migrate, tmp_path / "b")


@pytest.mark.requirement("storage.backup")
async def test_an_embedded_file_is_copied_then_migrated_at_start(
    tmp_path: Path, later_release: Callable[..., None]
) -> None:
    storage = await Storage.open(None, tmp_path)
    await storage.write(rows.family)
    await storage.close()
    later_release(_ADDS_A_COLUMN)
    storage = await Storage.open(None, tmp_path)
    colour = await storage.read(
        lambda unit: unit.connection.execute(text("SELECT colour FROM sessions")).scalar()
    )
    assert colour == "none"
    # Foreign keys are watched again after the tables were rebuilt.
    assert (
        await storage.write(lambda unit: unit.connection.execute(text("PRAGMA foreign_keys")).scalar()) == 1
    )
    await storage.close()
    [copy] = copies(tmp_path)
    assert copy.name.startswith(f"kaged.db.backup-{HEAD}-2")
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("SELECT version_num FROM alembic_version").fetchone() == (HEAD,)
        assert old.execute("SELECT id FROM sessions").fetchall() == [("ses_00001",)]
    # Nothing is due any more: no second copy.
    await (await Storage.open(None, tmp_path)).close()
    assert len(copies(tmp_path)) == 1


@pytest.mark.parametrize("failing", [_FAILS_HALF_WAY, _ORPHANS_ROWS])
async def test_a_failed_migration_leaves_nothing_half_made(
    storage_url: str | None, tmp_path: Path, later_release: Callable[..., None], failing: str
) -> None:
    storage = await Storage.open(storage_url, tmp_path)
    await storage.write(rows.family)
    await storage.write(lambda unit: unit.messages.add(rows.message(1)))
    await storage.close()
    later_release(_ADDS_A_COLUMN, failing)
    with pytest.raises(StorageError, match="undone"):
        await upgrade(storage_url, tmp_path)
    if storage_url is None:
        with pytest.raises(StorageError, match="undone"):
            await Storage.open(None, tmp_path)
    assert copies(tmp_path) == []  # started again and again, they would fill the disk
    with connected(storage_url, tmp_path) as connection:
        tables = inspect(connection).get_table_names()
        assert "half" not in tables
        assert "colour" not in [c["name"] for c in inspect(connection).get_columns("sessions")]
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [HEAD]
        assert connection.execute(text("SELECT count(*) FROM messages")).scalar() == 1
        assert connection.execute(text("SELECT count(*) FROM projects")).scalar() == 1


async def test_a_postgresql_database_is_migrated_only_when_asked(
    postgres_url: str, tmp_path: Path, later_release: Callable[..., None]
) -> None:
    await upgrade(postgres_url, tmp_path)
    later_release(_ADDS_A_COLUMN)
    with pytest.raises(StorageError, match=rf"schema {HEAD}.*needs later_1.*kaged db upgrade"):
        await Storage.open(postgres_url, tmp_path)
    report = await upgrade(postgres_url, tmp_path)
    assert (report.before, report.after) == (HEAD, "later_1")
    await (await Storage.open(postgres_url, tmp_path)).close()


async def test_upgrading_twice_changes_nothing(empty_database: str | None, tmp_path: Path) -> None:
    await upgrade(empty_database, tmp_path)
    report = await upgrade(empty_database, tmp_path)
    assert (report.before, report.after, report.copy) == (HEAD, HEAD, None)
