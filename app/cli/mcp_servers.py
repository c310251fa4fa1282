"""`kaged mcp add|list|test|remove|import`: the operator's MCP servers, in the data folder.

Owns: these commands. Never: installing a package (`mcp_package`), connecting (`mcp_probe`), or the daemon: it
reads the declarations when it uses them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from app.cli.daemon_address import (
    find_project_root,
    local_options,
    local_settings,
    require_project_root,
)
from app.cli.given_path import GivenPath
from app.cli.output import (
    CommandFailed,
    json_option,
    print_json,
    print_table,
    print_text,
    print_warning,
    printable,
)

if TYPE_CHECKING:
    from app.bridges.mcp.added_servers import AddedServer
    from app.config import Settings

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _pairs(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter("write NAME=VALUE", ctx, parameter)
        found[name.strip()] = text
    return found


@click.command(name="add")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARGUMENT]...]")
@click.option("--npm", metavar="PACKAGE@VERSION", help="Install this package of npm and run it.")
@click.option("--pypi", metavar="PACKAGE==VERSION", help="Install this package of PyPI and run it.")
@click.option("--url", help="Connect to a server at this address (streamable HTTP).")
@click.option(
    "--env",
    callback=_pairs,
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable; `${NAME}` in it is read when the server starts.",
)
@click.option(
    "--header",
    callback=_pairs,
    multiple=True,
    metavar="NAME=VALUE",
    help="A header for --url; `${NAME}` as above.",
)
@click.option(
    "--allow", "hosts", multiple=True, metavar="HOST[:PORT]", help="A host that the server may connect to."
)
@click.option("--write", is_flag=True, help="Let the server write in the project (default: read).")
@click.option("--keep-home", is_flag=True, help="Keep the server's own home folder between its runs.")
@click.option("--no-cage", is_flag=True, help="Run the server with all rights of the daemon.")
@click.option("--project", "only", type=GivenPath(), help="Only for the project in this folder.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds of a call."
)
@local_options
@json_option
def add(
    name: str,
    words: tuple[str, ...],
    npm: str | None,
    pypi: str | None,
    url: str | None,
    env: dict[str, str],
    header: dict[str, str],
    hosts: tuple[str, ...],
    write: bool,
    keep_home: bool,
    no_cage: bool,
    only: Path | None,
    timeout: float,
    data_dir: Path | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Add the MCP server NAME: a command, a package that is installed once, or an address.

    A command runs in a cage: it reads the project, has a home of its own and no network, unless the options
    grant more. A package is installed into the data folder, with no scripts of its own run meanwhile; what
    stands after `--` are then its arguments. An agent gets the server's tools by `NAME_*` in its `tools`.
    """
    grants = bool(hosts or write or keep_home)
    _check_ways(words, (npm, pypi), url, runs=bool(env or grants or no_cage), header=bool(header))
    if no_cage and grants:
        raise click.UsageError("--no-cage has no bounds that --allow, --write or --keep-home could widen.")
    from app.bridges.mcp.added_servers import AddedServer
    from app.bridges.mcp.entries import name_problem

    problem = name_problem(name)
    if problem is not None:
        raise CommandFailed("usage", problem, exit_code=2)
    settings = local_settings(data_dir, config_file)
    server = AddedServer(
        name=name,
        project=str(only.expanduser().absolute()) if only is not None else None,
        command=list(words),
        url=url,
        env=env,
        headers=header,
        cage="disabled" if no_cage else None if url is not None else _cage(hosts, write, keep_home),
        timeout_seconds=timeout,
    )
    _require_sound(server)
    if npm is not None or pypi is not None:
        from app.cli.mcp_package import install

        package = asyncio.run(install(settings, name, npm=npm, pypi=pypi))
        found = {"command": [*package.command, *words], "package": package.title}
        server = server.model_copy(update=found)
    replaced = _added(settings).put(server)
    if as_json:
        print_json(_shown(server))
        return
    print_text(f"{'replaced' if replaced else 'added'} the MCP server {name}: {_what(server)}")
    _print_next_steps(server)
    if name in settings.mcp:
        print_warning(f"[mcp.{name}] of the config file goes first; remove one of the two")


def _print_next_steps(server: AddedServer) -> None:
    print_text(f"agents get its tools by  {server.name}_*: {{enabled: true}}  in their `tools`", dim=True)
    if server.url is not None and not server.headers:
        print_text(f"where it asks for a sign-in:  kaged mcp login {server.name}", dim=True)


def _check_ways(
    words: tuple[str, ...], packages: tuple[str | None, ...], url: str | None, *, runs: bool, header: bool
) -> None:
    """Refuse several ways to one server, and options of another way. `runs` and `header`: such are given."""
    named = sum(one is not None for one in (*packages, url))
    if named + bool(words and not any(packages)) != 1:
        raise click.UsageError("say one of: a command after `--`, --npm, --pypi, --url.")
    if url is not None and runs:
        raise click.UsageError("--env, --allow, --write, --keep-home and --no-cage are for a command.")
    if url is None and header:
        raise click.UsageError("--header is for --url.")


def _cage(hosts: tuple[str, ...], write: bool, keep_home: bool) -> dict[str, Any] | None:
    """Return the cage that the options ask for; None for the default one."""
    if not (hosts or write or keep_home):
        return None
    return {
        "fs": [{"mode": "rw" if write else "ro", "path": "."}],
        **({"net": {"allow": list(hosts)}} if hosts else {}),
        **({"state": "persistent"} if keep_home else {}),
    }


def _require_sound(server: AddedServer) -> None:
    """Check what would be declared as the daemon does. Raises CommandFailed."""
    from app.harness.hooks.declared_servers import problem_of

    command = server.command or (["package"] if server.url is None else [])
    problem = problem_of(server.model_copy(update={"command": command}))
    if problem is not None:
        raise CommandFailed("usage", problem, exit_code=2)


@click.command(name="list")
@local_options
@json_option
def list_servers(data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """List the MCP servers of the config file, those that were added, and those of this project."""
    settings = local_settings(data_dir, config_file)
    rows = _rows(settings)
    if as_json:
        print_json({"items": rows})
    elif not rows:
        print_text("no MCP servers; add one with `kaged mcp add`")
    else:
        cells = [
            (
                row["name"],
                row["from"],
                row["project"] or "all",
                (row["sign_in"] or "").replace("_", " "),
                row["runs"],
            )
            for row in rows
        ]
        print_table(("NAME", "FROM", "PROJECT", "SIGN-IN", "RUNS"), cells)


def _rows(settings: Settings) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "from": "config file",
            "project": None,
            "runs": one.url or " ".join(one.command or ()),
            "enabled": one.enabled,
        }
        for name, one in settings.mcp.items()
    ]
    rows += [_shown(one) for one in _added(settings).all()]
    root = find_project_root()
    from app.bridges.mcp.sign_ins import SignIns
    from app.cli.mcp_probe import project_in

    project = project_in(root) if root is not None else None
    for name, spec in project.mcp.items() if project is not None else ():
        runs = spec.url or " ".join(spec.command or ())
        rows.append(
            {
                "name": name,
                "from": "project file",
                "project": str(root),
                "runs": runs,
                "enabled": spec.enabled,
            }
        )
    sign_ins = SignIns(settings.daemon.data_dir)
    for row in rows:
        known = sign_ins.of(row["name"], row["runs"])
        row["sign_in"] = None if known is None else known.state
    return rows


@click.command(name="remove")
@click.argument("name")
@click.option("--project", "only", type=GivenPath(), help="The one that was added for this project.")
@local_options
@json_option
def remove(
    name: str, only: Path | None, data_dir: Path | None, config_file: Path | None, as_json: bool
) -> None:
    """Remove the MCP server NAME that was added, with its package and its sign-in."""
    from app.bridges.mcp.sign_ins import SignIns
    from app.cli.mcp_login import forget
    from app.cli.mcp_package import uninstall

    settings = local_settings(data_dir, config_file)
    added = _added(settings)
    project = str(only.expanduser().absolute()) if only is not None else None
    if not added.remove(name, project):
        raise CommandFailed("not_found", _no_such(name, settings, project))
    if name not in added.names():
        uninstall(added, name)
        asyncio.run(forget(SignIns(settings.daemon.data_dir), name))
    print_json({"removed": name}) if as_json else print_text(f"removed the MCP server {name}")


def _no_such(name: str, settings: Settings, project: str | None) -> str:
    for one in _added(settings).all():
        if one.name == name:
            if one.project is None:
                return f"{name} was added for all projects: leave --project out"
            return f"{name} was added for {one.project}: say --project {one.project}"
    if name in settings.mcp:
        return f"{name} stands in the config file {settings.config_file}: remove [mcp.{name}] there"
    return f"no MCP server {name} was added; `kaged mcp list` lists them" + (
        f" ({project})" if project else ""
    )


@click.command(name="test")
@click.argument("name")
@click.argument("folder", type=GivenPath(), required=False)
@local_options
@json_option
def test(
    name: str, folder: Path | None, data_dir: Path | None, config_file: Path | None, as_json: bool
) -> int:
    """Start or reach the MCP server NAME as a session in FOLDER would, and list what it offers.

    FOLDER is a project (default: the one at or above this folder, else this folder). A server of a project
    file is started only when the project is trusted.
    """
    from app.cli.mcp_probe import probe

    settings = local_settings(data_dir, config_file)
    root = folder.expanduser().absolute() if folder is not None else find_project_root() or Path.cwd()
    found = asyncio.run(probe(settings, name, root))
    if as_json:
        print_json(found)
        return 0 if found["ok"] else 1
    if not found["ok"]:
        print_text(f"✗ {name}: {found['problem']}", color="red")
    else:
        print_text(f"✓ {name}: {found['server'] or 'a server'}, protocol {found['protocol']}", color="green")
        for tool in found["tools"]:
            print_text(f"  {tool['name']}  {tool['description'].partition(chr(10))[0][:100]}")
        for text in found["left_out"]:
            print_warning(f"left out: {text}")
        offers = [word for word in ("resources", "prompts") if found[word]]
        if offers:
            print_text(f"  also {' and '.join(offers)}", dim=True)
    for line in found["log"]:
        print_text(f"  | {line}", dim=True)
    return 0 if found["ok"] else 1


def _added(settings: Settings) -> Any:
    from app.bridges.mcp.added_servers import AddedServers

    return AddedServers(settings.daemon.data_dir)


def _shown(server: AddedServer) -> dict[str, Any]:
    """Return a server without the values that may be secret."""
    return {
        "name": server.name,
        "from": "added",
        "project": server.project,
        "runs": _what(server),
        "package": server.package,
        "env": sorted(server.env),
        "headers": sorted(server.headers),
        "cage": server.cage,
        "enabled": True,
    }


def _what(server: AddedServer) -> str:
    return server.package or server.url or " ".join(server.command)


@click.command(name="import")
@click.argument("folder", type=GivenPath(), required=False)
@click.option("--yes", is_flag=True, help="Take over all that can be, without a question.")
@local_options
@json_option
def import_servers(
    folder: Path | None, yes: bool, data_dir: Path | None, config_file: Path | None, as_json: bool
) -> None:
    """Take over the MCP servers of `.mcp.json` and `.vscode/mcp.json` of the trusted project in FOLDER.

    Each is shown, and added for this project alone when you say yes. It runs in the default cage: the project
    read-only, no network.
    """
    from app.cli.mcp_import import declarations
    from app.cli.trust import decide

    settings = local_settings(data_dir, config_file)
    root = find_project_root() if folder is None else require_project_root(folder)
    if root is None:
        raise CommandFailed("no_project", "there is no .kaged/project.yaml here; write one with `kaged init`")
    if asyncio.run(decide(settings, root, "look"))[1]["state"] != "trusted":
        raise CommandFailed("untrusted", f"the project is not trusted; trust it with `kaged trust {root}`")
    taken, left = [], []
    for one in declarations(root):
        if one.server is None:
            left.append({"name": one.name, "file": one.file, "problem": one.problem})
            print_warning(f"{one.file}: {one.name} is left out: {one.problem}")
            continue
        if one.advice is not None:
            print_warning(f"{one.file}: {one.name}: {one.advice}")
        names = ", ".join((*one.server.env, *one.server.headers))
        said = f"{one.file}: {one.name}: {printable(_what(one.server))}" + (
            f" (with {names})" if names else ""
        )
        if yes or click.confirm(f"{said}. Add it?", err=True):
            _added(settings).put(one.server)
            taken.append(_shown(one.server))
    if as_json:
        print_json({"added": taken, "left_out": left})
    else:
        print_text(f"added {len(taken)} MCP servers" if taken else "no MCP servers were added")


SERVER_COMMANDS: tuple[click.Command, ...] = (add, list_servers, test, remove, import_servers)
