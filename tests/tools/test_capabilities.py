"""What a cage lets the file tools touch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    NetRequirement,
    SeccompRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
)
from app.tools.dispatch.service import ToolService
from tests.driver.tool_registry import tool_registry

pytestmark = pytest.mark.requirement("tools.dispatch")


async def test_an_agent_with_a_read_only_mount_reads_but_does_not_edit(desk):
    file = desk.put("src/main.ts", "x")
    caged = desk.caged(("ro", "./src"))
    await caged.ok("file.read", path="src/main.ts")
    envelope = await caged.call("edit.text", path="./src/main.ts", old_string="x", new_string="y")
    assert envelope.code == "capability_denied"
    line = "fs: [{ mode: rw, path: src/main.ts }]"
    assert envelope.detail == {"needed": "fs rw on src/main.ts", "allow": [line], "rpc_code": -32001}
    assert file.read_text() == "x"
    denied = desk.ports.of("tool.denied")
    assert denied["denied_capability"] == "fs rw on src/main.ts"
    assert denied["caller"] == "primary.subagents.worker"
    assert denied["cage_summary"] == "fs: [ro ./src]; net: []; capabilities: []; seccomp: default"


async def test_the_most_specific_entry_wins_and_a_denial_wins_a_tie(desk):
    for path in ("src/a.txt", "src/private/a.txt", "src/private/open/a.txt", "tie/a.txt"):
        desk.put(path, "x")
    caged = desk.caged(
        ("deny", "src/private"), ("rw", "src"), ("ro", "./src/private/open/"), ("rw", "tie"), ("deny", "tie")
    )
    await caged.ok("file.read", path="src/a.txt")
    assert await caged.code("file.read", path="src/private/a.txt") == "capability_denied"
    await caged.ok("file.read", path="src/private/open/a.txt")
    assert await caged.code("file.write", path="src/private/open/a.txt", content="") == "capability_denied"
    assert await caged.code("file.read", path="tie/a.txt") == "capability_denied"
    assert (await caged.ok("file.read", path="src"))["content"] == "a.txt"


async def test_absolute_entries_and_the_workspace_variable_mean_the_root(desk):
    desk.put("a/x.txt", "x")
    for path in (str(desk.root / "a"), "{workspace}/a", "{workspace}"):
        await desk.caged(("ro", path)).ok("file.read", path="a/x.txt")
    for path in ("{user-data}", "{unknown}/a", "/", "../..", "{workspace}x"):
        assert await desk.caged(("rw", path)).code("file.read", path="a/x.txt") == "capability_denied"


async def test_without_entries_nothing_is_open(desk):
    desk.put("a.txt", "x")
    for path in ("a.txt", ".", "missing.txt"):
        assert await desk.caged().code("file.read", path=path) == "capability_denied"


async def test_a_refusal_says_what_the_cage_grants(desk):
    envelope = await desk.caged(("ro", "./src"), ("rw", "out"), ("deny", "x")).call("file.read", path="x")
    assert "it grants ro src, rw out" in envelope.error_text


async def test_a_link_out_of_the_mount_is_judged_by_where_it_leads(desk):
    desk.put("private/a.txt", "secret")
    desk.put("src/own.txt", "x")
    (desk.root / "src/link").symlink_to("../private")
    caged = desk.caged(("rw", "src"))
    for path in ("src/link/a.txt", "src/link/missing.txt", "src/link"):
        assert await caged.code("file.read", path=path) == "capability_denied"
    assert await caged.code("file.create", path="src/link/b.txt", content="x") == "capability_denied"
    assert not (desk.root / "private/b.txt").exists()


async def test_names_that_steer_the_daemon_or_run_code_are_read_only_in_a_cage(desk):
    desk.put(".git/config", "x")
    caged = desk.caged(("rw", "."))
    await caged.ok("file.read", path=".git/config")
    for path in (".git/hooks/pre-commit", ".GIT/config", "sub/.kaged/project.yaml", ".envrc", "\uff0egit/x"):
        assert await caged.code("file.create", path=path, content="x") == "capability_denied"
    await desk.ok("file.create", path=".kaged/project.yaml", content="x")


async def test_denied_entries_do_not_show_in_a_listing(desk):
    desk.put("a.txt", "")
    desk.put("hidden/x", "")
    assert (await desk.caged(("ro", "."), ("deny", "hidden")).ok("file.read", path="."))["content"] == "a.txt"


@pytest.mark.requirement("security.declared_files")
async def test_a_link_to_prompts_is_not_replaced_and_what_lies_behind_it_is_granted(desk):
    desk.put("texts/own.md", "x")
    (desk.root / "prompts").symlink_to("texts")
    (desk.root / "newest.md").symlink_to("texts/other.md")
    cage = {
        "fs": [{"mode": "rw", "path": "."}],
        "guarded": ["prompts/own.md", "texts/own.md"],
        "guarded_links": ["newest.md", "prompts"],
    }
    agent = desk.as_agent("primary.subagents.x", cage)
    await agent.ok("file.create", path="prompts/new.md", content="x")
    for path in ("prompts/own.md", "texts/own.md", "newest.md", "prompts"):
        assert await agent.code("file.write", path=path, content="theirs") == "capability_denied", path


class _Nothing(ToolParams):
    pass


class _Done(ToolResult):
    done: bool = True


def _tool(*requires) -> ToolDefinition:
    async def run(_params, _context):
        return _Done()

    return ToolDefinition(
        name="probe.run", title="Probe", description="d", parameters=_Nothing, result=_Done,
        run=run, acp_kind="other", requires=requires,
    )  # fmt: skip


@pytest.mark.requirement("authorisation.capability")
@pytest.mark.parametrize(
    ("requirement", "cage", "granted"),
    [
        (CapabilityRequirement("shell"), {}, False),
        (CapabilityRequirement("shell"), {"capabilities": ["shell"]}, True),
        (SeccompRequirement(), {"seccomp": "default"}, False),
        (SeccompRequirement(), {"seccomp": "relaxed"}, True),
        (NetRequirement("api.example.org:443"), {}, False),
        (NetRequirement("api.example.org:443"), {"net": {"allow": ["api.example.org:443"]}}, True),
        (NetRequirement("api.example.org:443"), {"net": {"allow": ["*.example.org:443"]}}, True),
        (NetRequirement("example.org:443"), {"net": {"allow": ["*.example.org:443"]}}, False),
        (NetRequirement("evilexample.org:443"), {"net": {"allow": ["*.example.org:443"]}}, False),
        (NetRequirement("api.example.org:80"), {"net": {"allow": ["api.example.org:443"]}}, False),
        (NetRequirement("api.example.org:80"), {"net": {"allow": ["api.example.org"]}}, True),
        (NetRequirement("api.example.org:80"), {"net": {"allow": ["api.example.org:*"]}}, True),
        (NetRequirement("API.example.org.:80"), {"net": {"allow": ["api.EXAMPLE.org:80"]}}, True),
        (NetRequirement("api.example.org:80"), {"net": {"allow": ["*"]}}, False),
        (NetRequirement("api.example.org:80"), {"net": None}, False),
        (NetRequirement("127.0.0.1:80"), {"net": {"allow": ["127.0.0.1:80"]}}, False),
        (NetRequirement("2130706433:80"), {"net": {"allow": ["2130706433:80"]}}, False),
        (NetRequirement("a.test\0.b.test:80"), {"net": {"allow": ["*.b.test"]}}, False),
    ],
)
async def test_capabilities_seccomp_and_hosts_are_checked_against_the_cage(desk, requirement, cage, granted):
    caged = desk.with_tools(_tool(requirement)).as_agent("primary.subagents.x", cage)
    envelope = await caged.call("probe.run")
    assert envelope.code == (None if granted else "capability_denied")
    assert (await desk.with_tools(_tool(requirement)).call("probe.run")).type == "output"


@pytest.mark.requirement("authorisation.capability", "authorisation.denial")
async def test_a_refusal_names_what_is_needed_and_what_there_is(desk):
    caged = desk.with_tools(_tool(SeccompRequirement())).as_agent("primary.subagents.x", {"fs": []})
    envelope = await caged.call("probe.run")
    assert envelope.detail == {
        "needed": "seccomp relaxed",
        "reason": "seccomp_insufficient",
        "required": "relaxed",
        "have": "default",
        "allow": ["seccomp: relaxed"],
        "rpc_code": -32001,
    }
    caged = desk.with_tools(_tool(NetRequirement("a.test:1"))).as_agent("x", {"net": {"allow": ["b.test"]}})
    envelope = await caged.call("probe.run")
    assert envelope.detail["needed"] == "net a.test:1" and "b.test" in envelope.error_text
    caged = desk.with_tools(_tool(CapabilityRequirement("exec"))).as_agent("x", {"capabilities": ["shell"]})
    assert (await caged.call("probe.run")).detail["needed"] == "capability exec"


@pytest.mark.requirement("authorisation.capability")
async def test_the_hosts_that_a_call_names_are_checked_too(desk):
    tool = replace(_tool(), effects_of=lambda _params: Effects(hosts=("a.test:443", "b.test:443")))
    for allow, granted in ((["a.test", "b.test"], True), (["a.test"], False), ([], False)):
        caged = desk.with_tools(tool).as_agent("primary.subagents.x", {"net": {"allow": allow}})
        assert (await caged.call("probe.run")).code == (None if granted else "capability_denied")


async def test_the_daemons_config_file_is_closed_wherever_it_is(desk):
    config = desk.put("settings/kaged.toml", "api_key = 1\n")
    (desk.root / "link.toml").symlink_to(config)
    registry = tool_registry(reads=desk.reads, data_dir=desk.base / "data", config_file=config)
    desk = replace(desk, service=ToolService(registry))
    for path in ("settings/kaged.toml", "link.toml", str(config)):
        assert await desk.code("file.read", path=path) == "capability_denied"
        assert await desk.code("file.write", path=path, content="x") == "capability_denied"
    assert "kaged.toml" not in (await desk.ok("file.read", path="settings"))["content"]
    assert config.read_text() == "api_key = 1\n"
    await desk.ok("file.write", path="settings/other.toml", content="x")


@pytest.mark.requirement("security.every_lack")
async def test_a_refusal_names_everything_that_is_lacking_and_the_line_for_each(desk):
    desk.put("src/a.txt", "x")
    needs = (
        CapabilityRequirement("shell"),
        CapabilityRequirement("exec"),
        SeccompRequirement(),
        NetRequirement("api.example.org:443"),
    )
    caged = desk.with_tools(_tool(*needs)).as_agent("primary.subagents.x", {"fs": []})
    envelope = await caged.call("probe.run")
    lines = [
        "capabilities: [shell]",
        "capabilities: [exec]",
        "seccomp: relaxed",
        'net: { allow: ["api.example.org:443"] }',
    ]
    assert envelope.detail["allow"] == lines
    assert all(f"`{line}`" in envelope.error_text for line in lines)
    needed = "capability shell; capability exec; seccomp relaxed; net api.example.org:443"
    assert envelope.detail["needed"] == desk.ports.of("tool.denied")["denied_capability"] == needed
    granted = {
        "fs": [],
        "capabilities": ["shell", "exec"],
        "seccomp": "relaxed",
        "net": {"allow": ["api.example.org:443"]},
    }
    assert (await caged.as_agent("primary.subagents.x", granted).call("probe.run")).type == "output"
