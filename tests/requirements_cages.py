"""The requirements of cages and of the daemon's own security."""

from __future__ import annotations

CAGES: dict[str, str] = {
    # 8 policy
    "R8.policy.compiled": "an agent's cage is compiled to mounts, hosts and limits, as pure data",
    "R8.policy.protected": "protected names are frozen, with their parents; new ones are taken away",
    "R8.policy.narrower": "a child's cage is never wider than its parent's",
    # 8 paths
    "R8.paths.one": "one module decides over paths, for every source of paths",
    "R8.paths.same_answer": "outside its mounts, absent and forbidden look the same to a caged caller",
    "R8.paths.fuzz": "path inputs are compared with a model by hypothesis",
    "R8.paths.races": "20,000 rounds of swapping folders: read, write, rename, delete, mount; no escape",
    "R8.paths.speed": "opening a file under the policy is measured against open",
    # 8 kernel layer
    "R8.kernel.launch": "a caged command runs in namespaces of its own and sees only what is granted",
    "R8.kernel.holder": "one holder for each cage; commands start in it, and end with it",
    "R8.kernel.descriptors": "mounts are bound by descriptor, not by name",
    "R8.kernel.seccomp": "the filter, by an oracle of error numbers",
    "R8.kernel.landlock": "the weaker tier: files, TCP and system calls without namespaces",
    "R8.kernel.limits": "processor, memory, processes, files and wall time are bounded",
    "R8.kernel.state": "home and /tmp are gone after the run, or kept for the agent",
    "R8.kernel.environment": "the environment of the daemon is not that of the cage",
    "R8.kernel.terminal": "terminals inside a cage, and what escapes through them",
    "R8.kernel.tier": "the tier is found by trying; doctor, readyz and capabilities say which and why",
    "R8.kernel.unavailable": "without a tier, what needs a cage answers cage_unavailable",
    "R8.kernel.off": "--no-sandbox is explicit, warns on every response, and still enforces paths",
    "R8.kernel.container": "the seccomp profile for containers",
    "R8.kernel.speed": "a caged command is measured against a bare one",
    # 8 network
    "R8.net.proxy": "CONNECT and SOCKS5 to allowed hosts only",
    "R8.net.vetted": "private, loopback, link-local and metadata addresses are refused; resolved once",
    "R8.net.speed": "the proxy is measured against a direct connection",
    # 8 who runs where
    "R8.where.shell": "commands and recipes of a caged agent run in its cage",
    "R8.where.search": "ripgrep, ast-grep and the readers of files run in a cage",
    "R8.where.git": "the daemon's own git runs in a read-only cage, with hooks, monitors and filters off",
    "R8.where.debug": "adapters and debuggees of a caged agent run in its cage",
    "R8.where.lsp": "language servers run in a cage of the project",
    "R8.where.plugins": "plugins run in cages of their own",
    # 8 daemon
    "R8.daemon.scopes": "tokens of operators, readers, agents and plugins may do what their scope says",
    "R8.daemon.identity": "identity, cage and scope come from the token and from nothing else",
    "R8.daemon.revoked": "a revoked token's sockets are closed",
    "R8.daemon.rates": "requests, sign-ins, frames and connections are bounded",
    "R8.daemon.headers": "security headers and the page's policy",
    "R8.daemon.redaction": "secrets are redacted in every sink",
    "R8.daemon.document": "schemathesis over the whole document, with and without a token",
    # 8 attacks
    "R8.attacks.count": "at least 150 attacks, each with a neighbour that is allowed",
    "R8.attacks.oracles": "canaries, the outside tree, listeners, processes and the daemon's health",
    "R8.attacks.tiers": "as root and as an ordinary user, in the tiers full, landlock and none",
}

SHOWN: tuple[str, ...] = (
    "R8.kernel.limits",
    "R8.policy.compiled",
    "R8.policy.protected",
    "R8.paths",
    "R8.net.proxy",
    "R8.net.vetted",
    "R8.net.speed",
    "R8.kernel.seccomp",
    "R8.kernel.landlock",
    "R8.kernel.off",
    "R8.kernel.tier",
    "R8.kernel.container",
    "R8.kernel.launch",
    "R8.kernel.holder",
    "R8.kernel.speed",
    "R8.kernel.descriptors",
    "R8.kernel.environment",
    "R8.kernel.terminal",
    "R8.kernel.unavailable",
    "R8.kernel.state",
    "R8.policy.narrower",
    "R8.where.shell",
    "R8.where.search",
    "R8.where.git",
    "R8.where.debug",
    "R8.where.lsp",
    "R8.where.plugins",
    "R8.daemon.scopes",
    "R8.daemon.identity",
    "R8.daemon.revoked",
    "R8.daemon.rates",
    "R8.daemon.headers",
    "R8.daemon.redaction",
    "R8.attacks",
    "R8.daemon.document",
)
"""Beginnings of the names that have tests."""

IN_HAND: dict[str, str] = {name: "in hand" for name in CAGES if not name.startswith(SHOWN)}
