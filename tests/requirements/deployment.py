"""Deployment: the examples for containers, orchestrators, services and monitoring."""

from __future__ import annotations

DEPLOYMENT: dict[str, str] = {
    "deployment.settings": "settings of the examples exist, secrets are files, a stop has its time",
    "deployment.compose": "compose files for SQLite and PostgreSQL are valid, with a hardened daemon",
    "deployment.proxy": "the proxy of the compose file encrypts, forwards WebSockets and names requests",
    "deployment.kubernetes": "objects for Kubernetes are valid, and a daemon answers their probes",
    "deployment.systemd": "a hardened systemd unit leaves bubblewrap what cages need",
    "deployment.stop": "a stop keeps its time beside a command that refuses to end, and its session goes on",
    "deployment.monitoring": "dashboard, alerts and collectors name what the daemon exports",
}
