"""`kaged doctor`: say what is present, and how to get what is not.

Owns: the command and its layout. Never: looking (`diagnosis`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from app.cli.daemon_address import local_options
from app.cli.output import json_option, print_json, print_text

_MARKS = {"ok": ("✓", "green"), "absent": ("–", None), "problem": ("✗", "red")}


@click.command(name="doctor")
@local_options
@json_option
def command(data_dir: Path | None, config_file: Path | None, as_json: bool) -> int:
    """Say what is present on this machine, and how to install what is not.

    Exits with 1 when something keeps kaged from working; what is merely absent does not count.
    """
    from app.cli.diagnosis import diagnose
    from app.config import load_settings

    overrides: dict[str, Any] = {} if data_dir is None else {"daemon.data_dir": data_dir}
    findings = asyncio.run(diagnose(load_settings(config_file=config_file, overrides=overrides)))
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
    return 0 if healthy else 1
