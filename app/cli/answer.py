"""`kaged answer`: list the open questions of all sessions or of one, and answer them.

Owns: turning arguments, or lines typed at a terminal, into an answer. Never: what a line means (`dialogs`),
which questions `--all` means (`answer_all`), or checking the answer, which is the daemon's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import click

from app.cli.answer_all import KINDS, Wanted, answer_all
from app.cli.connected import Connected, in_project
from app.cli.conversation import path_of, session_path
from app.cli.dialogs import (
    Asked,
    Dialog,
    Line,
    NotUnderstood,
    answers_body,
    asked_in,
    dialog_of,
    field_value,
    local_file,
    visible,
)
from app.cli.output import CommandFailed, print_text
from app.cli.questions import interaction_path, send_answer
from app.cli.session_mode import AFTER_PLAN

_WORDS = ("once", "always", "reject")
_LINE_END = " ⏎ "


@click.command(name="answer")
@click.argument("interaction", required=False)
@click.argument("values", nargs=-1)
@click.option("--session", help="Only this session: its id, or `last`.")
@click.option("--file", "-f", "files", multiple=True, metavar="FIELD=PATH", help="A file for a form field.")
@click.option("--comment", "-m", help="With reject, or for a plan: a comment that the agent reads.")
@click.option("--kind", type=click.Choice(KINDS), help="Only questions of this kind.")
@click.option("--tool", metavar="NAME", help="Only permission requests of this tool; `shell.*` works too.")
@click.option("--all", "every", is_flag=True, help="Answer every question of --kind or --tool.")
@in_project
async def command(
    daemon: Connected,
    interaction: str | None,
    values: tuple[str, ...],
    session: str | None,
    files: tuple[str, ...],
    comment: str | None,
    kind: str | None,
    tool: str | None,
    every: bool,
) -> None:
    """Answer INTERACTION (itx_...); without it list the open questions.

    \b
    kaged answer itx_... once|always|reject [-m WHY]      a permission request
    kaged answer itx_... OPTION...                        one question; a number, a label or a text
    kaged answer itx_... ID=OPTION ID=OPTION...           several questions (of `question` by 1, 2, ...)
    kaged answer itx_... FIELD=VALUE... --file FIELD=PATH a form
    kaged answer itx_... accept MODE | reject [-m WHY]    a plan (`kaged session plan` shows and edits it)
    kaged answer itx_...                                  at a terminal: asks one by one
    kaged answer --all --tool shell.bash once             all permission requests of a tool
    """
    wanted = Wanted(kind, tool)
    if every:
        given = values if interaction is None else (interaction, *values)
        await _answer_every(daemon, session, wanted, given, files, comment)
        return
    if interaction is None:
        found = [one async for one in _open_questions(daemon, session, wanted)]
        _show_rows(daemon, found, empty="no question is open")
        return
    if wanted.is_narrow:
        raise click.UsageError("--kind and --tool go with the list, or with --all.")
    asked = await _find(daemon, interaction, session)
    if not values and not files and comment is None:
        body = await _ask_at_terminal(dialog_of(asked["kind"], asked["request"]))
    else:
        body = _body(asked["kind"], asked["request"], values, files, comment)
    closed = await send_answer(daemon.client, interaction_path(asked["session_id"], asked["id"]), body)
    daemon.show(closed, f"{closed['id']} {closed['state']}")


async def _answer_every(
    daemon: Connected,
    session: str | None,
    wanted: Wanted,
    values: tuple[str, ...],
    files: tuple[str, ...],
    comment: str | None,
) -> None:
    if not wanted.is_narrow:
        raise click.UsageError("say with --kind or --tool which questions --all means.")
    if not values:
        raise click.UsageError("give the answer; without --all the questions are listed.")
    closed = await answer_all(
        daemon.client,
        _open_questions(daemon, session, wanted),
        lambda one: _body(one["kind"], one["request"], values, files, comment),
    )
    _show_rows(daemon, closed, empty="no such question is open", header="ANSWERED")


def _show_rows(daemon: Connected, found: list[dict[str, Any]], *, empty: str, header: str = "ID") -> None:
    rows = [(one["id"], one["kind"], one["session_id"], _what(one)) for one in found]
    daemon.show_rows({"items": found}, (header, "KIND", "SESSION", "WHAT"), rows, empty=empty)


async def _open_questions(
    daemon: Connected, session: str | None, wanted: Wanted | None = None
) -> AsyncIterator[dict[str, Any]]:
    """Yield the open questions of one session, or of all (of those of `--project`, when it is given)."""
    client = daemon.client
    if session is not None:
        paths = [await path_of(client, session, daemon.project)]
    else:
        params = {"asks": "true"}
        if daemon.project is not None:
            params["project_id"] = await daemon.project_id()
        found = client.items("/sessions", params=params)
        paths = [session_path(one["id"]) async for one in found]
    for path in paths:
        async for one in client.items(f"{path}/interactions", params={"state": "pending"}):
            if wanted is None or wanted.takes(one):
                yield one


async def _find(daemon: Connected, interaction_id: str, session: str | None) -> dict[str, Any]:
    async for one in _open_questions(daemon, session):
        if one["id"] == interaction_id:
            return one
    raise CommandFailed("not_found", f"{interaction_id} is not open; `kaged answer` lists the open questions")


async def _ask_at_terminal(dialog: Dialog) -> Mapping[str, Any]:
    """Return the body of the answer. Raises `UsageError` without a terminal, `CommandFailed` when the
    input ends before the answer is complete."""
    if not sys.stdin.isatty():
        raise click.UsageError("give the answer, or run this at a terminal to be asked.")
    _show([*dialog.opening(), *dialog.prompt()])
    while typed := await asyncio.to_thread(sys.stdin.readline):
        try:
            body = dialog.take(typed.rstrip("\n"))
        except NotUnderstood as problem:
            print_text(f"  {problem}", color="yellow")
            continue
        if body is not None:
            return body
        _show(dialog.prompt())
    raise CommandFailed("aborted", "nothing was answered")


def _show(lines: list[Line]) -> None:
    for line in lines:
        print_text(line.text, dim=line.dim, color="yellow" if line.asks else None)


def _body(
    kind: str, request: Mapping[str, Any], values: Sequence[str], files: Sequence[str], comment: str | None
) -> dict[str, Any]:
    if files and kind != "form":
        raise click.UsageError("--file goes with a form.")
    if comment is not None and kind not in ("permission", "plan"):
        raise click.UsageError("--comment goes with a permission request or a plan.")
    try:
        match kind:
            case "permission":
                return _consent(request, values, comment)
            case "plan":
                return _plan(values, comment)
            case "form":
                return {"values": _form(request["fields"], values, files)}
            case _:
                asked = asked_in(kind, request)
                return answers_body(kind, asked, _answers(asked, values))
    except NotUnderstood as problem:
        raise click.UsageError(f"{problem}.") from None


def _consent(request: Mapping[str, Any], values: Sequence[str], comment: str | None) -> dict[str, Any]:
    if len(values) != 1 or values[0] not in _WORDS:
        raise click.UsageError(f"say one of {', '.join(_WORDS)}.")
    if values[0] == "always" and not request["suggestions"]:
        raise click.UsageError("no rule can allow this call always; say once or reject.")
    if comment is not None and values[0] != "reject":
        raise click.UsageError("--comment goes with reject.")
    return {"answer": values[0]} | ({"comment": comment} if comment is not None else {})


def _plan(values: Sequence[str], comment: str | None) -> dict[str, Any]:
    said = {} if comment is None else {"comment": comment}
    if tuple(values) == ("reject",):
        return {"decision": "reject", **said}
    if len(values) != 2 or values[0] != "accept" or values[1] not in AFTER_PLAN:
        raise click.UsageError(f"say `accept MODE` ({', '.join(AFTER_PLAN)}) or `reject`.")
    return {"decision": "accept", "mode": values[1], **said}


def _answers(asked: Sequence[Asked], values: Sequence[str]) -> dict[str, list[str]]:
    if len(asked) == 1 and not (values and values[0].startswith(f"{asked[0].key}=")):
        (one,) = asked
        if len(values) > 1 and not one.multiple:
            raise click.UsageError("this question takes one answer; put it in quotes.")
        return {one.key: list(dict.fromkeys(label for value in values for label in one.answer_of(value)))}
    # People count questions from 1.
    names = {one.key if not one.key.isdecimal() else str(int(one.key) + 1): one for one in asked}
    given: dict[str, list[str]] = {}
    for name, value in _named(values):
        if name not in names:
            raise click.UsageError(f"there is no question {name}; the questions are {', '.join(names)}.")
        given.setdefault(names[name].key, []).extend(names[name].answer_of(value))
    missing = [name for name, one in names.items() if one.key not in given]
    if missing:
        raise click.UsageError(f"not answered: {', '.join(missing)}. Write {missing[0]}=ANSWER.")
    return given


def _form(fields: Sequence[Mapping[str, Any]], values: Sequence[str], files: Sequence[str]) -> dict[str, Any]:
    declared = {one["name"]: one for one in fields}
    given: dict[str, Any] = {}
    for name, value in _named(values):
        # The daemon refuses a name that the form does not have.
        given[name] = field_value(declared[name], value) if name in declared else value
    for name, path in _named(files):
        given[name] = local_file(path)
    return {name: value for name, value in given.items() if value is not None}


def _named(values: Sequence[str]) -> list[tuple[str, str]]:
    named = []
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals:
            raise click.UsageError(f"write NAME=VALUE, not {value!r}.")
        named.append((name, rest))
    return named


def _what(one: Mapping[str, Any]) -> str:
    asked = one["request"]
    match one["kind"]:
        case "permission":
            # Two commands must not look like one.
            text = f"{asked['tool']} {_LINE_END.join(map(str, asked['subjects']))}".replace("\n", _LINE_END)
        case "plan":
            text = asked["plan"]
        case "form":
            text = f"{asked['summary']} ({', '.join(field['name'] for field in asked['fields'])})"
        case _:
            text = "; ".join(str(q.get("title") or q.get("question")) for q in asked["questions"])
    shown = visible(" ".join(text.split()))
    return shown if len(shown) <= 80 else shown[:79] + "…"
