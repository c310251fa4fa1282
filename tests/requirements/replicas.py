"""Several daemons on one PostgreSQL database."""

from __future__ import annotations

REPLICAS: dict[str, str] = {
    "replicas.setting": "several daemons share a PostgreSQL database only when all of them say so",
    "replicas.lease": "a project is owned by one daemon at a time, by a lease that an idle owner keeps too",
    "replicas.fencing": "a daemon writes no row for a project that another one has taken over",
    "replicas.guardian": "a stopped owner's processes are dead before its project is taken over",
    "replicas.takeover": "a project of a killed daemon goes on at another one, and no run is done twice",
    "replicas.elsewhere": "a daemon that does not own a project says which one does",
    "replicas.streams": "a daemon streams the stored events of every session, also of another daemon's",
    "replicas.forwarding": "a daemon answers for a project of another one, and no command is done twice",
    "replicas.upgrade": "daemons are updated one after the other when the next schema only adds to theirs",
    "replicas.files": "a project is served only where its files are",
}
