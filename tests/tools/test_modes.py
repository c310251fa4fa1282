"""Modes of a session as rules: what each allows, asks and denies, and what it never changes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import pytest
import yaml

from app.errors import ValidationFailed
from app.tools.authorisation.decision import decide
from app.tools.authorisation.shell_read_only import only_reads
from app.tools.authorisation.shell_reader import read_script
from app.tools.contract.modes import DEFAULT_MODE, MODE_NAMES, MODES, ModeName, mode_rules
from app.tools.contract.rules import PermissionRule, RuleScope, Subject, check_permission_name, plain
from tests.driver.tool_registry import tool_registry

ALLOWED, DENIED, ASKED = "allow", "deny", "ask"
WRITE = Subject("path", ("file.write",), "fs.write", plain("src/a.py"))
READ = Subject("path", ("file.read",), "fs.read", plain("src/a.py"))
DYNAMIC = Subject("command", ("shell.bash",), "shell", (("$X -rf /", 0),), dynamic=True)

Action = Literal["allow", "deny", "ask"]


def command(text: str) -> Subject:
    return Subject("command", ("shell.bash",), "shell", plain(text))


def call(tool: str, *actions: str) -> Subject:
    return Subject("call", (tool, *(f"{tool}.{one}" for one in actions)), None, plain(""))


def rule(
    permission: str, pattern: str, action: Action, scope: RuleScope = "project", *, pinned: bool = False
) -> PermissionRule:
    return PermissionRule(permission, pattern, action, scope, pinned)


def decision(mode: ModeName, subject: Subject, *rules: PermissionRule) -> str:
    return decide((*rules, *mode_rules(mode)), subject).action


def reads(line: str) -> bool:
    script = read_script(line)
    return script.readable and bool(script.parts) and all(map(only_reads, script.parts))


@pytest.mark.requirement("modes.rules")
def test_every_mode_has_words_for_people_and_rules_that_name_what_there_is() -> None:
    assert MODE_NAMES == get_args(ModeName) == tuple(MODES)
    names = {*tool_registry().names(), "agent-x", "tool_search"}
    for mode in MODES.values():
        assert mode.label and mode.description.endswith(".")
        for one in mode.rules:
            assert (one.scope, one.id) == ("mode", mode.name)
            check_permission_name(one.permission, names)
    with pytest.raises(ValidationFailed):
        check_permission_name("fs.reed", names)
    assert mode_rules(DEFAULT_MODE) == ()


@pytest.mark.requirement("modes.rules")
def test_a_mode_that_is_not_known_is_as_strict_as_plan() -> None:
    assert mode_rules("everything") == MODES["plan"].rules


@pytest.mark.requirement("modes.rules")
@pytest.mark.parametrize(
    ("mode", "subject", "rules", "expected"),
    [
        ("ask", WRITE, [], ALLOWED),
        ("ask", WRITE, [rule("fs.write", "*", ASKED)], ASKED),
        # edits: files without a question, commands with one unless a rule allows them
        ("edits", WRITE, [rule("fs.write", "*", ASKED)], ALLOWED),
        ("edits", WRITE, [rule("file.write", "src/**", ASKED, "session")], ALLOWED),
        ("edits", command("make"), [], ASKED),
        ("edits", command("make"), [rule("shell.bash", "make *", ALLOWED, "session")], ALLOWED),
        ("edits", DYNAMIC, [], ASKED),
        ("edits", call("kaged.issue", "create"), [rule("kaged.issue", "*", ASKED)], ASKED),
        # full: no question but a pinned one
        ("full", command("make"), [rule("shell", "*", ASKED, "manifest")], ALLOWED),
        ("full", command("make"), [rule("shell", "make", ASKED, "session")], ALLOWED),
        ("full", command("make"), [rule("shell", "*", ASKED, "manifest", pinned=True)], ASKED),
        ("full", WRITE, [rule("fs.write", "src/**", ASKED, "manifest", pinned=True)], ASKED),
        ("full", call("lab.touch"), [rule("lab.*", "*", ASKED)], ALLOWED),
        # no mode takes a denial away, also not one that only may apply
        ("full", command("rm x"), [rule("shell", "rm *", DENIED, "manifest")], DENIED),
        ("full", command("rm x"), [rule("shell", "rm *", DENIED, "session")], DENIED),
        ("full", command("rm x"), [rule("*", "*", DENIED, "project")], DENIED),
        ("edits", WRITE, [rule("fs.write", "src/**", DENIED, "project")], DENIED),
        ("full", DYNAMIC, [rule("shell", "rm *", DENIED, "manifest")], ASKED),
        ("full", DYNAMIC, [rule("shell", "rm *", ASKED), rule("shell", "rm -rf *", DENIED)], ASKED),
        ("full", DYNAMIC, [rule("shell", "rm *", ASKED)], ALLOWED),
        (
            "full",
            command("git push"),
            [rule("shell", "git *", DENIED, "manifest"), rule("shell", "git push *", ASKED, "manifest")],
            ASKED,
        ),
        # plan: no rule lifts what it denies
        ("plan", WRITE, [rule("fs.write", "**", ALLOWED, "session")], DENIED),
        ("plan", WRITE, [rule("file.write", "src/a.py", ALLOWED, "manifest", pinned=True)], DENIED),
        ("plan", command("make"), [rule("shell.bash", "make", ALLOWED, "session")], DENIED),
        ("plan", READ, [], ALLOWED),
        ("plan", READ, [rule("fs.read", "src/**", DENIED)], DENIED),
        ("plan", call("kaged.issue", "kaged.issue.create"), [], DENIED),
        ("plan", call("plugin.send"), [], DENIED),
        ("plan", call("agent-coder"), [], ALLOWED),
        ("plan", Subject("call", ("debug", "debug.launch"), "exec", plain("")), [], DENIED),
    ],
)
def test_a_mode_beside_the_other_rules(
    mode: ModeName, subject: Subject, rules: list[PermissionRule], expected: str
) -> None:
    assert decision(mode, subject, *rules) == expected


@pytest.mark.requirement("modes.rules")
@pytest.mark.parametrize(
    ("mode", "edit", "runs", "looks"),
    [
        ("plan", DENIED, DENIED, ALLOWED),
        ("ask", ASKED, ASKED, ALLOWED),
        ("edits", ALLOWED, ASKED, ALLOWED),
        ("full", ALLOWED, ALLOWED, ALLOWED),
    ],
)
def test_with_the_rules_of_the_page_each_mode_asks_less_than_the_one_before(
    mode: ModeName, edit: str, runs: str, looks: str
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "modes.md").read_text("utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    rules = [PermissionRule(**one, scope="manifest") for one in yaml.safe_load(text)["permissions"]]
    assert decision(mode, WRITE, *rules) == edit
    assert decision(mode, command("make"), *rules) == runs
    looking = Subject("command", ("shell.bash",), "shell", plain("git log"), only_reads=True)
    assert decision(mode, looking, *rules) == looks


@pytest.mark.requirement("modes.plan")
@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -5",
        "git --no-pager diff HEAD~1 -- src",
        "git status && git branch -a",
        "cat README.md | head -n 3",
        "cat *.py",
        "grep -rn 'rm -rf' src | sort -u | wc -l",
        "rg -n basket src/*.py",
        "find . -name '*.py' -newer a",
        "sed -n 10,20p app.py",
        "for f in a b; do cat $f; done",
        "ls -la; pwd",
        "python3 --version",
        "git config --get user.name",
        "cat a 2>/dev/null",
    ],
)
def test_commands_that_are_known_to_only_read(line: str) -> None:
    assert reads(line)


@pytest.mark.requirement("modes.plan")
@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "sh -c 'rm x'",
        "test -v 'a[$(rm x)]'",
        "[ -n x -a -v 'a[$(rm x)]' ]",
        "printf -v 'a[$(rm x)]' x",
        "bash -c 'cat x'",
        "git log | sh",
        "env cat x",
        "cat x | tee y",
        "echo $(rm x)",
        "cat <(touch y)",
        "cat() { rm x; }; cat",
        "alias cat=rm; cat x",
        "PATH=. cat x",
        "export PATH=.; cat x",
        "./cat x",
        "/tmp/cat x",
        "$CAT x",
        "xargs cat",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "find $X",
        "sort -o out in",
        "sort --outp=out in",
        "sort -uo out in",
        "uniq in out",
        "tree -o out",
        "date -s 2020-01-01",
        "file -C -m magic",
        "sed -i s/a/b/ x",
        "sed -n 'w out' x",
        "sed -n 1p x -i",
        "rg --pre ./evil x",
        "awk 'BEGIN{system(\"rm x\")}'",
        "git -c core.pager=./evil log",
        "git -c alias.log='!rm x' log",
        "git --exec-path=. log",
        "git log --output=out",
        "git diff --outpu=out",
        "git diff --ext-diff",
        "git log $X",
        "git grep -O./evil x",
        "git commit -m x",
        "git branch new",
        "git branch -D old",
        "git tag v1",
        "git stash",
        "git stash drop",
        "git config user.name x",
        "git reflog expire --all",
        "git checkout .",
        "git reset --hard",
        "git push",
        "make",
        "npm test",
        'python3 -c \'open("x", "w")\'',
        "node --eval x --version",
        "yarn --version",
        "pnpm --version",
        "cargo --version",
        "rustc -V",
        "go --version",
        "test -v 'a[$(rm x)]'",
        "printf -v 'a[$(rm x)]' y",
        "cat x; : > y | rm z",
        "exec cat x",
        "sudo cat x",
        "time git log",
        "eval 'cat x'",
        ". ./script",
    ],
)
def test_whatever_may_write_or_run_another_program_is_not_known_to_only_read(line: str) -> None:
    assert not reads(line)
