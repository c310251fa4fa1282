"""`kaged db`: upgrade, backup, restore and check the database, without a daemon.

Owns: those four commands. Never: how it is done (`app.storage.backup`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from app.cli.daemon_address import local_options, local_settings
from app.cli.given_path import GivenPath
from app.cli.output import CommandGroup, json_option, print_json, print_text


@click.group(name="db", cls=CommandGroup)
def command() -> None:
    """Back up, restore, check and migrate the database."""


@command.command(name="upgrade")
@local_options
@json_option
def upgrade(data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Migrate the schema to this version; an embedded database is backed up first."""
    from app.storage import backup as maintenance  # SQLAlchemy, which other commands do without

    report = asyncio.run(maintenance.upgrade(*_database(data_dir, config_file)))
    if as_json:
        print_json(
            {"database": report.database, "before": report.before, "after": report.after, "copy": report.copy}
        )
    elif report.before == report.after:
        print_text(f"{report.database} is at schema {report.after} already")
    else:
        print_text(f"{report.database}: schema {report.before or 'none'} -> {report.after}")
        if report.copy is not None:
            print_text(f"the file as it was: {report.copy}", dim=True)


@command.command(name="backup")
@click.argument("file", type=GivenPath())
@local_options
@json_option
def backup(file: Path, data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Back up every row to FILE, also while a daemon runs."""
    from app.storage import backup as maintenance

    report = asyncio.run(maintenance.backup(*_database(data_dir, config_file), file))
    _print_rows(report.database, report.file, report.rows, as_json=as_json, verb="backed up")


@command.command(name="restore")
@click.argument("file", type=GivenPath())
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@local_options
@json_option
def restore(file: Path, yes: bool, data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """Replace the content of the database with that of FILE.

    Stop the daemon first. An embedded file is kept beside the new one.
    """
    from app.storage import backup as maintenance

    if not file.is_file():
        raise click.UsageError(f"there is no file {file}.")
    if not yes:
        if as_json:
            raise click.UsageError("--json does not ask; add --yes to replace the database.")
        click.confirm(f"Replace everything in the database by {file}?", abort=True, err=True)
    report = asyncio.run(maintenance.restore(*_database(data_dir, config_file), file))
    _print_rows(report.database, report.file, report.rows, as_json=as_json, verb="restored")


@command.command(name="check")
@local_options
@json_option
def check(data_dir: Path | None, config_file: Path | None, as_json: bool) -> int:
    """Check for damage, broken references and a wrong schema; exit with 1 when there is any."""
    from app.storage import backup as maintenance

    report = asyncio.run(maintenance.check(*_database(data_dir, config_file)))
    if as_json:
        print_json(
            {
                "ok": report.ok,
                "database": report.database,
                "schema": report.schema,
                "needed": report.needed,
                "problems": list(report.problems),
                "rows": report.rows,
            }
        )
        return 0 if report.ok else 1
    for problem in report.problems:
        print_text(f"✗ {problem}", color="red")
    if report.ok:
        print_text(
            f"✓ {report.database}: schema {report.schema}, {sum(report.rows.values()):,} rows", color="green"
        )
    return 0 if report.ok else 1


def _database(data_dir: Path | None, config_file: Path | None) -> tuple[str | None, Path]:
    """Return the storage URL (None: the embedded file) and the data folder."""
    settings = local_settings(data_dir, config_file)
    url = settings.storage.url
    return (url.get_secret_value() if url is not None else None), settings.daemon.data_dir


def _print_rows(database: str, file: Path, rows: dict[str, int], *, as_json: bool, verb: str) -> None:
    if as_json:
        print_json({"database": database, "file": str(file), "rows": rows})
    else:
        print_text(f"{verb} {database}: {sum(rows.values()):,} rows, {file}")
