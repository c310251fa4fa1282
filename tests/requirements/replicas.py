"""Several daemons on one PostgreSQL database."""

from __future__ import annotations

REPLICAS: dict[str, str] = {
    "replicas.guardian": "a stopped owner's processes are dead before its project is taken over",
}
