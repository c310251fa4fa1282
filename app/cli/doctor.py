"""`kaged doctor`: report what is installed, what is missing, and how to install it.

Owns: the command and its layout. Never: looking (`diagnosis`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.daemon_address import local_options, local_settings
from app.cli.output import json_option, print_json, print_text

if TYPE_CHECKING:
    from app.cli.diagnosis import Finding

_MARKS = {"ok": ("✓", "green"), "absent": ("–", None), "problem": ("✗", "red")}


@click.command(name="doctor")
@click.option(
    "--remove-leftovers",
    "remove",
    is_flag=True,
    help="Remove folders and refs of workspaces that the database does not know, with all that is in them.",
)
@local_options
@json_option
def command(remove: bool, data_dir: Path | None, config_file: Path | None, as_json: bool) -> int:
    """Check this machine: what is installed, what is missing, and how to install it.

    Exits with 1 when something keeps kaged from working; absent items do not count.
    """
    from app.cli.diagnosis import diagnose
    from app.cli.leftover_workspaces import leftover_findings
    from app.cli.notify_findings import notify_findings

    settings = local_settings(data_dir, config_file)
    findings = [
        *asyncio.run(diagnose(settings)),
        *notify_findings(settings),
        *asyncio.run(leftover_findings(settings, remove=remove)),
    ]
    healthy = all(finding.status != "problem" for finding in findings)
    if as_json:
        print_json({"ok": healthy, "findings": [finding.as_json() for finding in findings]})
        return 0 if healthy else 1
    group = ""
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        if finding.group != group:
            group = finding.group
            print_text(group, bold=True)
        mark, color = _MARKS[finding.status]
        print_text(f"  {mark} {finding.name.ljust(width)}  {finding.detail}", color=color)
        if finding.advice is not None:
            print_text(f"    {' ' * width}  → {finding.advice}", dim=True)
    _print_summary(findings)
    return 0 if healthy else 1


def _print_summary(findings: Sequence[Finding]) -> None:
    """Print the result last, where a person looks first."""
    problems = [finding for finding in findings if finding.status == "problem"]
    absent = sum(finding.status == "absent" for finding in findings)
    present = len(findings) - len(problems) - absent
    cages = next((finding.detail for finding in findings if finding.name == "cages"), None)
    providers = [one.name for one in findings if one.group == "providers" and one.status == "ok"]
    print_text("summary", bold=True)
    for problem in problems:
        print_text(f"  ✗ {problem.group}, {problem.name}: {problem.detail}", color="red")
    if not problems:
        print_text("  ✓ no problems found", color="green")
    print_text(f"  {present} present, {absent} absent; only features that use an absent item miss it")
    if cages is not None:
        print_text(f"  cages: {cages}")
    print_text(f"  models: {', '.join(providers) or 'no provider has a credential'}")
