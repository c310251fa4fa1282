"""Speed, and the daemon in use."""

from __future__ import annotations

MEASURED: dict[str, str] = {
    "speed.models": "models are built when they are needed",
    "speed.indexes": "indexes that no query needs are gone",
    "speed.session_read": "a session is read without its newest run's steps",
    "in_use.pull": "a changed project file under git pull while a session runs",
    "in_use.container": "trust by environment in a container",
    "in_use.headless": "serve --json without a terminal",
    "in_use.upgrade": "an upgraded database with a schedule",
    "in_use.root": "a caged root agent in npm, pip, cargo and go projects",
    "in_use.outage": "a full disk and a stopped PostgreSQL in the middle of a run",
}
