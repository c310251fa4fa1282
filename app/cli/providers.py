"""`kaged providers list|test|key`: the model providers of the configuration.

Owns: the commands and their layout. They need no daemon. Never: keys (`provider_key`), the call, or why it
failed (`app.harness.providers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.daemon_address import local_options, local_settings
from app.cli.output import CommandFailed, CommandGroup, json_option, print_json, print_table, print_text
from app.cli.provider_key import command as key_command
from app.errors import ValidationFailed

if TYPE_CHECKING:
    from app.harness.providers.route import ProviderEntry
    from app.harness.providers.router import ProviderRouter, ProviderTestResult

command = CommandGroup(name="providers", help="List the model providers, test them, and store their keys.")
command.add_command(key_command)


@command.command(name="list")
@local_options
@json_option
def list_providers(data_dir: Path | None, config_file: Path | None, as_json: bool) -> None:
    """List the configured providers, and what each one lacks."""
    entries = _router(data_dir, config_file).list_providers()
    if as_json:
        keys = ("name", "driver", "base_url", "ready", "problem")
        print_json([{key: getattr(entry, key) for key in keys} for entry in entries])
        return
    rows = [[one.name, one.driver, one.base_url or "", one.problem or "ready"] for one in entries]
    print_table(("NAME", "DRIVER", "ADDRESS", "STATE"), rows)


@command.command(name="test")
@click.argument("name", required=False)
@click.option("--model", help="The model to ask (default: that of an alias, or one that the server offers).")
@local_options
@json_option
def test_providers(
    name: str | None, model: str | None, data_dir: Path | None, config_file: Path | None, as_json: bool
) -> int:
    """Make one small real call to the provider NAME, and explain how it fails.

    Without NAME each provider that has all it needs is tested. The call costs a fraction of a cent. It uses
    the configuration and the variables of this shell, and needs no daemon. Exits with 1 when a test fails.
    """
    if model is not None and name is None:
        raise click.UsageError("--model needs the NAME of a provider.")
    results, skipped = asyncio.run(_tested(_router(data_dir, config_file), name, model))
    if as_json:
        print_json({"ok": all(one["ok"] for one in results), "results": results, "skipped": skipped})
    else:
        for one in results:
            _print_result(one)
        for other, why in skipped.items():
            print_text(f"– {other}: not tested: {why}", dim=True)
    if not results and not as_json:
        print_text("No provider has all that it needs; configure one, see docs/providers.md.", color="red")
    return 0 if results and all(one["ok"] for one in results) else 1


def _router(data_dir: Path | None, config_file: Path | None) -> ProviderRouter:
    from app.harness.providers.router import ProviderRouter

    settings = local_settings(data_dir, config_file)
    return ProviderRouter(settings.models, settings.providers, settings.prices)


async def _tested(
    router: ProviderRouter, name: str | None, model: str | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the results, and why the other providers were left out."""
    if name is not None:
        try:
            return [_as_json(await router.test(name, model))], {}
        except ValidationFailed as error:
            raise CommandFailed("usage", f"{error.message} Give one with --model.", exit_code=2) from error
        finally:
            await router.aclose()
    skipped = {entry.name: why for entry in router.list_providers() if (why := _not_ready(entry)) is not None}
    named = {one.partition(":")[0] for entry in router.list_models() for one in entry.chain}
    names = [entry.name for entry in router.list_providers() if entry.name not in skipped]
    try:
        outcomes = await asyncio.gather(*(router.test(one) for one in names), return_exceptions=True)
    finally:
        await router.aclose()
    results = []
    for one, outcome in zip(names, outcomes, strict=True):
        if isinstance(outcome, ValidationFailed):
            skipped[one] = outcome.message
        elif isinstance(outcome, BaseException):
            raise outcome
        elif outcome.cause == "no_server" and one not in named:
            # One that exists by default, and that nobody uses: its server need not run.
            skipped[one] = outcome.explanation or ""
        else:
            results.append(_as_json(outcome))
    return results, skipped


def _not_ready(entry: ProviderEntry) -> str | None:
    return "it plays a transcript and calls no server" if entry.driver == "replay" else entry.problem


def _as_json(result: ProviderTestResult) -> dict[str, Any]:
    usage = result.usage.model_dump() if result.usage is not None else None
    return {**asdict(result), "usage": usage}


def _print_result(result: Mapping[str, Any]) -> None:
    subject = f"{result['provider']}:{result['model']}" if result["model"] else result["provider"]
    if result["ok"]:
        began = f", the first piece after {result['ttft_ms']} ms" if result["ttft_ms"] is not None else ""
        print_text(f"✓ {subject} answers in {result['duration_ms']} ms{began}", color="green")
        usage = result["usage"] or {}
        counts = f"{usage.get('input_tokens', 0)} tokens in, {usage.get('output_tokens', 0)} out"
        print_text(f"    {counts}; it said {result['text'].strip()[:60]!r}", dim=True)
        return
    print_text(f"✗ {subject}: {result['explanation']}", color="red")
    print_text(f"    → {result['advice']}")
    if result["message"]:
        print_text(f"    {result['message']}", dim=True)
