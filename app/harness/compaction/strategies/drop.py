"""Drop: the oldest units go until the context is below the lower threshold.

Owns: this strategy. Pure. Never: a summary (`summarize`, which the compactor tries first where the
project names a summarizer).
"""

from __future__ import annotations

from app.harness.compaction.plan import Plan, Window


def drop(window: Window) -> Plan:
    """Return a plan without a summary; it is empty when nothing may go."""
    return Plan("drop", window.oldest())
