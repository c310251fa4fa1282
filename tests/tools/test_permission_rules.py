"""Permission rules: which one wins, what a call is judged by, who is asked, and what a refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ToolError
from app.tools.authorisation.decision import decide
from app.tools.authorisation.patterns import matches
from app.tools.authorisation.permission_rules import still_to_ask
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    NetRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
)
from app.tools.contract.rules import ConsentRequest, PermissionRule, Subject, plain

ALLOWED, DENIED, ASKED = "allow", "deny", "ask"


def rule(permission, pattern, action, scope="project", pinned=False, rule_id=None) -> PermissionRule:
    return PermissionRule(permission, pattern, action, scope, pinned, rule_id)


def command(text: str) -> Subject:
    return Subject("command", ("shell.bash",), "shell", plain(text))


def decision(rules, subject) -> str:
    return decide(tuple(rules), subject).action


# -- which rule wins ---------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.rules")
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], ALLOWED),
        ([rule("*", "*", ASKED)], ASKED),
        ([rule("shell", "git *", DENIED)], DENIED),
        ([rule("file.*", "*", DENIED), rule("net", "*", DENIED)], ALLOWED),
        # a name before a glob, a glob before the star
        ([rule("*", "git status", DENIED), rule("shell.*", "*", ALLOWED)], ALLOWED),
        ([rule("shell.*", "git status", DENIED), rule("shell.bash", "*", ALLOWED)], ALLOWED),
        ([rule("shell.*", "git status", DENIED), rule("shell", "*", ALLOWED)], ALLOWED),
        # the longer literal part of the pattern
        ([rule("shell", "*", DENIED), rule("shell", "git *", ALLOWED)], ALLOWED),
        ([rule("shell", "git *", ALLOWED), rule("shell", "git st*", DENIED)], DENIED),
        (
            [rule("shell", "git status", ALLOWED, "project"), rule("shell", "git *", DENIED, "session")],
            ALLOWED,
        ),
        # session, project, manifest
        ([rule("shell", "git *", ASKED, "manifest"), rule("shell", "git *", ALLOWED, "project")], ALLOWED),
        ([rule("shell", "git *", ALLOWED, "project"), rule("shell", "git *", ASKED, "session")], ASKED),
        # deny, ask, allow
        ([rule("shell", "git *", ALLOWED), rule("shell.bash", "git *", ASKED)], ASKED),
        ([rule("shell", "git *", ASKED), rule("shell", "git *", DENIED)], DENIED),
        # what the project file denies stays denied
        ([rule("shell", "*", DENIED, "manifest"), rule("shell", "git *", ALLOWED, "session")], DENIED),
        ([rule("*", "*", DENIED, "manifest"), rule("shell.bash", "git status", ALLOWED, "project")], DENIED),
        ([rule("shell", "*", DENIED, "manifest"), rule("shell", "git *", ALLOWED, "manifest")], ALLOWED),
        # what it pins may only be made stricter
        (
            [
                rule("shell", "git *", DENIED, "manifest", pinned=True),
                rule("shell", "git status", ALLOWED, "manifest"),
            ],
            DENIED,
        ),
        (
            [
                rule("shell", "git *", ASKED, "manifest", pinned=True),
                rule("shell", "git status", ALLOWED, "session"),
            ],
            ASKED,
        ),
        (
            [
                rule("shell", "git *", ASKED, "manifest", pinned=True),
                rule("shell", "git status", DENIED, "session"),
            ],
            DENIED,
        ),
        (
            [
                rule("shell", "git *", ALLOWED, "manifest", pinned=True),
                rule("shell", "git status", DENIED, "session"),
            ],
            DENIED,
        ),
        (
            [
                rule("shell", "*", DENIED, "manifest", pinned=True),
                rule("shell", "git *", ALLOWED, "manifest", pinned=True),
            ],
            ALLOWED,
        ),
    ],
)
def test_the_most_specific_rule_wins_and_the_project_file_has_the_last_no(rules, expected):
    assert decision(rules, command("git status")) == expected
    assert decision(reversed(rules), command("git status")) == expected


ACTIONS = st.sampled_from((ALLOWED, DENIED, ASKED))
RULES = st.lists(
    st.builds(
        rule,
        st.sampled_from(("*", "shell", "shell.bash", "shell.*", "net")),
        st.sampled_from(("*", "git *", "git status", "git s*", "rm *")),
        ACTIONS,
        st.sampled_from(("manifest", "project", "session")),
        st.booleans(),
    ),
    max_size=6,
)


@pytest.mark.requirement("authorisation.rules")
@given(rules=RULES, more=RULES, text=st.sampled_from(("git status", "git", "rm x", "ls")))
def test_no_later_rule_turns_the_project_files_denial_into_anything_else(rules, more, text):
    manifest = [one for one in rules if one.scope == "manifest"]
    others = [one for one in more if one.scope != "manifest"]
    if decision(manifest, command(text)) == DENIED:
        assert decision([*manifest, *others], command(text)) == DENIED


@pytest.mark.requirement("authorisation.rules")
def test_an_action_is_named_before_its_tool():
    subject = Subject("call", ("kaged.issue", "kaged.issue.create"), None, plain(""))
    rules = [rule("kaged.issue", "*", DENIED), rule("kaged.issue.create", "*", ALLOWED)]
    assert decision(rules, subject) == ALLOWED
    other = Subject("call", ("kaged.issue", "kaged.issue.list"), None, plain(""))
    assert decision(rules, other) == DENIED
    assert (
        decision([rule("kaged.issue.*", "*", DENIED)], Subject("call", ("kaged.issue",), None, plain("")))
        == DENIED
    )


@pytest.mark.requirement("authorisation.rules")
@pytest.mark.parametrize(
    ("kind", "pattern", "subject", "covered"),
    [
        ("command", "git *", "git status -s", True),
        ("command", "git *", "git", True),
        ("command", "git *", "gitk", False),
        ("command", "git status", "git status -s", True),
        ("command", "git status", "git statuses", False),
        ("command", "git*", "gitk --all", True),
        ("command", "* --force", "git push --force", True),
        ("command", "npm run test:?", "npm run test:a", True),
        ("command", "*", "", True),
        ("path", "**/*.py", "a.py", True),
        ("path", "**/*.py", "src/deep/a.py", True),
        ("path", "src/*.py", "src/deep/a.py", False),
        ("path", "src/**", "src/deep/a.py", True),
        ("path", "src/**", "src", True),
        ("path", "src/**", "srcs/a", False),
        ("path", "src", "src/deep/a.py", True),
        ("path", "src", "srcs/a.py", False),
        ("path", "./src/", "src/a", True),
        ("path", "{workspace}/src/**", "src/a", True),
        ("path", "{workspace}", "anything/at/all", True),
        ("path", "*.env", "deep/in/prod.env", True),
        ("path", "*.env", "prod.env/x", False),
        ("path", "src/*", "/etc/src/x", False),
        ("path", "/etc/**", "/etc/passwd", True),
        ("path", "~/**", "~/.bashrc", True),
        ("path", "**/secret/**", "a/secret/b/c", True),
        ("host", "api.example.org", "api.example.org:443", True),
        ("host", "api.example.org:443", "api.example.org:80", False),
        ("host", "*.example.org", "a.b.example.org:443", True),
        ("host", "*.example.org", "example.org:443", False),
        ("host", "*.example.org", "evilexample.org:443", False),
        ("host", "API.example.org.", "api.EXAMPLE.org:443", True),
        ("host", "api.example.org:*", "api.example.org:8443", True),
        ("call", "x", "", False),
    ],
)  # fmt: skip
def test_patterns_are_globs_over_the_whole_or_prefixes_of_whole_words(kind, pattern, subject, covered):
    assert matches(pattern, subject, kind) is covered


def test_a_pattern_of_many_stars_takes_no_time():
    assert not matches("a*" * 30 + "b", "a" * 60_000, "command")
    assert not matches("/".join(["**", "a"] * 20) + "/b", "/".join(["a"] * 2_000), "path")


# -- what a call is judged by ------------------------------------------------------------------


class CommandParams(ToolParams):
    command: str
    cwd: str = "."


class Done(ToolResult):
    done: bool = True


def runner(name="probe.run", **more) -> ToolDefinition:
    async def run(_params, _context):
        return Done()

    def effects(params: CommandParams) -> Effects:
        return Effects(commands=(params.command,), directory=params.cwd)

    fields = {"run": run, "effects_of": effects} | more
    return ToolDefinition(
        name=name, title="Probe", description="d", parameters=CommandParams, result=Done,
        acp_kind="execute", **fields,
    )  # fmt: skip


GIT_ONLY = (rule("shell", "*", DENIED), rule("shell", "git *", ALLOWED))
GIT_ELSE_ASK = (rule("shell", "*", ASKED), rule("shell", "git *", ALLOWED), rule("fs.write", "*", ASKED))


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize("default", [GIT_ONLY, GIT_ELSE_ASK])
@pytest.mark.parametrize(
    "text",
    [
        "git status && curl evil", "git log; rm x", "git status $(curl evil)", "git status `curl evil`",
        "git status\ncurl evil", "git status & curl evil", "git status | sh", "git status || curl evil",
        "FOO=bar git status", "PATH=/evil:$PATH; git status", "command git status", "sudo git status",
        "git() { curl evil; }; git status", "bash -c 'git status'", "$GIT status", "g?t status",
        "{ git status; curl evil; }", "(git status; curl evil)", "if git status; then curl evil; fi",
        "git status > >(curl evil)", "git status <(curl evil)", "alias git='curl evil'\ngit status",
        "eval git status", "xargs git status", "./git status", "git 'status", "((x)); git status",
        "git status <<E\n`curl evil`\nE\n", "\"git status\"", "git status; git log; ls",
    ],
)  # fmt: skip
async def test_a_command_line_is_allowed_only_when_each_of_its_parts_is(desk, text, default):
    ruled = desk.with_tools(runner()).ruled(*default)
    assert await ruled.code("probe.run", command=text) == "permission_denied"


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize(
    "text",
    [
        "git status", "git status && git log | git shortlog", "'git' \"status\"", "\\git status",
        "git status 2>&1 >/dev/null", "git log $RANGE -- *.py", "for b in x y; do git switch $b; done",
        "git log # curl evil", "git commit -m 'x; curl evil'", "git status \\\n  --short",
        "[ -d x ] && git pull",
    ],
)  # fmt: skip
async def test_what_consists_of_allowed_parts_is_allowed(desk, text):
    ruled = desk.with_tools(runner()).ruled(*GIT_ONLY)
    assert (await ruled.call("probe.run", command=text)).type == "output"
    assert desk.ports.asked == []


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize(
    "text",
    [
        "rm -rf x", "'rm' x", "r\\m x", "/bin/rm x", "A=1 rm x", "sudo rm x", "ls | xargs rm", "sh -c 'rm x'",
        "find . -exec rm {} +", "echo $(rm x)", "ls && rm x", "env B=1 timeout 5 rm x", "eval 'r''m x'",
    ],
)  # fmt: skip
async def test_a_denied_command_is_denied_in_every_disguise(desk, text):
    ruled = desk.with_tools(runner()).ruled(rule("shell", "rm *", DENIED))
    envelope = await ruled.call("probe.run", command=text)
    assert envelope.code == "permission_denied"
    assert envelope.detail["rule"]["pattern"] == "rm *"
    assert desk.ports.asked == []


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize("text", ["$X x", "`echo rm` x", 'eval "$X"', "git 'x", "rm; $Y", "git $SUB --force"])
async def test_what_might_fall_under_a_rule_is_asked_about_not_allowed(desk, text):
    ruled = desk.with_tools(runner()).ruled(
        rule("shell", "*", ALLOWED), rule("shell", "rm -rf *", DENIED), rule("shell", "git push *", ASKED)
    )
    assert await ruled.code("probe.run", command=text) == "permission_denied"
    (request,) = desk.ports.asked
    assert "cannot be analysed completely" in request.reason


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize(
    ("text", "path", "permission"),
    [
        ("git status > ~/.bashrc", "~/.bashrc", "fs.write"),
        ("git log >> /etc/motd", "/etc/motd", "fs.write"),
        ("git log > ../out", "../out", "fs.write"),
        ("git log > out/log", "out/log", "fs.write"),
        ("git apply < patches/x", "patches/x", "fs.read"),
        ("cd sub; git log > out/log", "out/log", "fs.write"),
        ("git log > $OUT", "$OUT", "fs.write"),
    ],
)
async def test_the_files_of_redirections_are_judged_as_files(desk, text, path, permission):
    ruled = desk.with_tools(runner()).ruled(rule(permission, "*", ASKED))
    assert await ruled.code("probe.run", command=text) == "permission_denied"
    (request,) = desk.ports.asked
    assert request.permission == permission and path in request.subjects


async def test_a_redirection_counts_from_the_commands_folder_and_by_where_links_lead(desk):
    desk.put("keys/a", "")
    desk.put("sub/b", "")
    (desk.root / "sub/link").symlink_to("../keys")
    ruled = desk.with_tools(runner()).ruled(rule("fs.write", "keys/**", DENIED))
    for text in ("x > link/new", "x > ../keys/new", f"x > {desk.root}/keys/new"):
        assert await ruled.code("probe.run", command=text, cwd="sub") == "permission_denied"
    await ruled.ok("probe.run", command="x > b", cwd="sub")


async def test_a_connection_that_the_shell_opens_is_judged_as_a_host(desk):
    ruled = desk.with_tools(runner()).ruled(rule("net", "*.example.org", DENIED))
    text = "cat x > /dev/tcp/a.example.org/443"
    assert await ruled.code("probe.run", command=text) == "permission_denied"


async def test_hosts_and_required_capabilities_are_judged(desk):
    tool = runner(
        requires=(NetRequirement("api.example.org:443"),), effects_of=lambda _: Effects(hosts=("b:1",))
    )
    tooled = desk.with_tools(tool)
    for pattern in ("api.example.org", "*.example.org:443", "b", "*"):
        assert (
            await tooled.ruled(rule("net", pattern, DENIED)).code("probe.run", command="")
            == "permission_denied"
        )
    await tooled.ruled(rule("net", "c", DENIED), rule("fs.*", "*", DENIED)).ok("probe.run", command="")


# -- paths, at the moment of use ---------------------------------------------------------------


@pytest.mark.requirement("authorisation.rules")
async def test_path_rules_hold_for_what_a_link_leads_to_and_for_how_it_is_called(desk):
    desk.put("secrets/key", "k")
    desk.put("src/a", "x")
    (desk.root / "src/link").symlink_to("../secrets")
    ruled = desk.ruled(rule("fs.*", "secrets/**", DENIED), rule("file.read", "src/link/**", DENIED))
    for path in ("secrets/key", "src/link/key", "./src/../secrets/key"):
        assert await ruled.code("file.read", path=path) == "permission_denied"
    assert await ruled.code("file.create", path="src/link/new", content="") == "permission_denied"
    await ruled.ok("file.read", path="src/a")
    assert (await ruled.ok("file.read", path="."))["content"] == "src/"


@pytest.mark.requirement("authorisation.rules")
async def test_a_rule_for_one_tool_leaves_the_others_alone(desk):
    desk.put("a.txt", "x")
    ruled = desk.ruled(rule("file.write", "*.txt", DENIED))
    await ruled.ok("file.read", path="a.txt")
    assert await ruled.code("file.write", path="a.txt", content="") == "permission_denied"
    await ruled.ok("edit.text", path="a.txt", old_string="x", new_string="y")


@pytest.mark.requirement("authorisation.rules")
@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("search.grep", {"pattern": "needle"}),
        ("search.glob", {"pattern": "**/*.py"}),
        ("search.ast", {"pattern": "needle", "lang": "python"}),
        ("grep", {"pattern": "needle"}),
    ],
)
async def test_a_search_shows_nothing_of_what_a_rule_closes(desk, tool, params):
    desk.put("open.py", "needle\n")
    desk.put("secrets/closed.py", "needle\n")
    desk.put("asked/file.py", "needle\n")
    (desk.root / "link.py").symlink_to("secrets/closed.py")
    ruled = desk.ruled(rule("fs.read", "secrets/**", DENIED), rule("fs.read", "asked/**", ASKED))
    shown = str((await ruled.call(tool, params)).as_json())
    assert "open.py" in shown
    assert "closed.py" not in shown and "asked" not in shown


async def test_a_rewrite_stops_at_what_a_rule_closes(desk):
    for path in ("open.py", "secrets/closed.py"):
        desk.put(path, "needle(1)\n")
    ruled = desk.ruled(rule("fs.*", "secrets/**", DENIED))
    await ruled.call("edit.ast", rewrites={"needle($A)": "thread($A)"}, lang="python", dry_run=False)
    assert (desk.root / "secrets/closed.py").read_text() == "needle(1)\n"


async def test_a_folder_that_was_consented_to_includes_what_is_not_denied_in_it(desk):
    desk.put("docs/a", "x")
    desk.put("docs/private/b", "x")
    desk.ports.answer = "once"
    ruled = desk.ruled(rule("fs.read", "docs/**", ASKED), rule("fs.read", "docs/private/**", DENIED))
    assert (await ruled.ok("file.read", path="docs"))["content"] == "a"
    assert (await ruled.ok("file.read", path="."))["content"] == ""
    assert len(desk.ports.asked) == 1


async def test_consent_is_for_one_call(desk):
    desk.put("a", "x")
    desk.ports.answer = "once"
    ruled = desk.ruled(rule("fs.read", "a", ASKED))
    await ruled.ok("file.read", path="a")
    desk.ports.answer = "reject"
    assert await ruled.code("file.read", path="a") == "permission_denied"


# -- asking ------------------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.ask")
async def test_the_human_is_asked_about_all_that_needs_it_at_once(desk):
    desk.ports.answer = "once"
    ruled = desk.with_tools(runner()).ruled(rule("shell", "*", ASKED), rule("shell", "ls *", ALLOWED))
    await ruled.ok("probe.run", command="ls; git status -s && pytest -q | ls")
    (request,) = desk.ports.asked
    assert request.tool == "probe.run" and request.permission == "shell" and request.source == "rule"
    assert request.subjects == ("git status -s", "pytest -q")
    assert request.reason == "A rule of the operator asks before `shell` on any command."
    assert [one.pattern for one in request.suggestions] == ["git status *", "pytest *"]
    assert {(one.permission, one.action, one.scope) for one in request.suggestions} == {
        ("probe.run", "allow", "session")
    }


async def test_each_rule_that_asks_about_a_part_is_a_reason(desk):
    rules = (rule("shell", "git *", ASKED), rule("shell", "pytest *", ASKED, "manifest"))
    await desk.with_tools(runner()).ruled(*rules).call("probe.run", command="git push; git pull && pytest -q")
    (request,) = desk.ports.asked
    assert request.reason.splitlines() == [
        "A rule of the operator asks before `shell` on `git *`.",
        "A rule of the project file asks before `shell` on `pytest *`.",
    ]


@pytest.mark.requirement("authorisation.ask")
@pytest.mark.parametrize(
    "command",
    ["python3 - <<'X'\nimport os\nX", "python3 - <<< 'import os'", "printf 'import os' | python3 -"],
)
async def test_the_human_sees_what_a_program_is_given_to_read(desk, command):
    desk.ports.answer = "once"
    await desk.with_tools(runner()).ruled(rule("shell", "*", ASKED)).ok("probe.run", command=command)
    (request,) = desk.ports.asked
    assert "import os" in request.reason


@pytest.mark.requirement("authorisation.ask")
async def test_without_a_human_asking_is_denying_and_nobody_is_bothered(desk):
    desk.ports.answer = "once"
    ruled = desk.with_tools(runner()).ruled(rule("shell", "*", ASKED), headless=True)
    envelope = await ruled.call("probe.run", command="ls")
    assert envelope.code == "permission_denied" and "cannot ask" in envelope.error_text
    assert desk.ports.asked == []


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("git status -s", ["git status *"]),
        ("npm run build", ["npm run build *"]),
        ("npm run", ["npm run *"]),
        ("make", ["make"]),
        ("ls -la", ["ls *"]),
        ("python x.py", ["python x.py"]),
        ("rm -rf build", ["rm -rf build"]),
        ("sudo ls", ["sudo ls", "ls *"]),
        ("git -c a=b log", ["git -c a=b log"]),
        ("echo $X", ["echo *"]),
        ("python $X", []),
        ("$X", []),
        ("rm *.txt", []),
        ("git status 'x", []),
        ("A=1 git log", ["A=1 git log"]),
    ],
)
async def test_what_always_would_store_is_narrow(desk, text, patterns):
    ruled = desk.with_tools(runner()).ruled(rule("shell", "*", ASKED))
    await ruled.call("probe.run", command=text)
    (request,) = desk.ports.asked
    assert [one.pattern for one in request.suggestions] == patterns


@pytest.mark.parametrize(
    ("path", "patterns"), [("src/deep/a[1].py", ["src/deep/**"]), ("a[1].py", ["a[[]1].py"])]
)
async def test_for_a_file_always_means_its_folder(desk, path, patterns):
    await desk.ruled(rule("fs.write", "*", ASKED)).call("file.create", path=path, content="")
    (request,) = desk.ports.asked
    assert [(one.permission, one.pattern) for one in request.suggestions] == [("file.create", *patterns)]


async def test_for_the_folder_of_a_command_always_means_the_capability(desk):
    tool = runner(effects_of=lambda params: Effects(writes=(params.cwd,), commands=(params.command,)))
    ruled = desk.with_tools(tool).ruled(rule("fs.write", "*", ASKED))
    await ruled.call("probe.run", command="ls", cwd="src/app")
    (request,) = desk.ports.asked
    assert [(one.permission, one.pattern) for one in request.suggestions] == [("fs.write", "src/**")]


async def test_a_suggestion_that_would_change_nothing_is_not_made(desk):
    pinned = rule("shell", "*", ASKED, "manifest", pinned=True)
    await desk.with_tools(runner()).ruled(pinned).call("probe.run", command="git status")
    (request,) = desk.ports.asked
    assert request.suggestions == ()


@pytest.mark.requirement("authorisation.ask")
@pytest.mark.parametrize("text", ["git status -s", "ls; rm -rf build", "sudo ls", "python a.py"])
async def test_with_what_always_stored_the_same_call_is_not_asked_again(desk, text):
    rules = (rule("shell", "*", ASKED),)
    ruled = desk.with_tools(runner()).ruled(*rules)
    await ruled.call("probe.run", command=text)
    (request,) = desk.ports.asked
    assert still_to_ask(request, rules)
    assert not still_to_ask(request, (*rules, *request.suggestions))
    await ruled.ruled(*rules, *request.suggestions).ok("probe.run", command=text)
    assert len(desk.ports.asked) == 1
    assert still_to_ask(ConsentRequest("t", "watchdog", (), "", "watchdog"), (rule("*", "*", ALLOWED),))


# -- refusals and order ------------------------------------------------------------------------


@pytest.mark.requirement("authorisation.denial", "audit.called")
async def test_a_denial_says_which_rule_and_what_would_be_needed(desk):
    ruled = desk.with_tools(runner()).ruled(rule("shell", "rm *", DENIED, "project", rule_id="rul_1"))
    envelope = await ruled.call("probe.run", command="ls && rm -rf x")
    assert envelope.code == "permission_denied"
    assert "rm -rf x" in envelope.error_text and "the operator" in envelope.error_text
    assert envelope.detail == {
        "needed": "permission shell for rm -rf x",
        "rule": {
            "permission": "shell", "pattern": "rm *", "action": "deny", "scope": "project", "pinned": False,
            "id": "rul_1",
        },
    }  # fmt: skip
    denied = desk.ports.of("tool.denied")
    assert denied["denied_capability"] == "permission shell for rm -rf x"
    assert denied["rule"]["id"] == "rul_1"
    assert denied["cage_summary"] == "disabled"


async def test_a_refusal_of_the_operating_system_is_not_audited_as_a_denial(desk):
    async def run(_params, _context):
        raise ToolError("permission_denied", "x: the daemon's user may not access it")

    await desk.with_tools(runner(run=run)).call("probe.run", command="x")
    assert "tool.denied" not in desk.ports.names()


@pytest.mark.requirement("authorisation.order")
async def test_the_layers_run_in_their_order_and_each_stops_what_follows(desk):
    seen = []

    class Dog:
        async def judge(self, definition, params, context):
            seen.append("watchdog")
            return Verdict("deny", "no") if "dog" in params.command else ALLOW

    async def run(_params, _context):
        seen.append("run")
        return Done()

    tool = runner(run=run, principal_scope="root-only", requires=(CapabilityRequirement("shell"),))
    tooled = desk.with_tools(tool, watchdog=Dog())
    rules = (rule("shell", "rm *", DENIED),)
    worker = tooled.as_agent("primary.subagents.x", {"capabilities": []}).ruled(*rules)
    assert await worker.code("probe.run", command="rm dog") == "principal_scope_violation"
    caged = tooled.as_agent("primary", {"capabilities": []}).ruled(*rules)
    assert await caged.code("probe.run", command="rm dog") == "capability_denied"
    able = tooled.as_agent("primary", {"capabilities": ["shell"]}).ruled(*rules)
    assert await able.code("probe.run", command="rm dog") == "permission_denied"
    assert seen == []
    assert await able.code("probe.run", command="ls dog") == "watchdog_denied"
    assert seen == ["watchdog"]
    await able.ok("probe.run", command="ls")
    assert seen == ["watchdog", "watchdog", "run"]
