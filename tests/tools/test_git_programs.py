"""What git is made to run on a command line is judged like any other command."""

from __future__ import annotations

import pytest

from app.tools.authorisation.shell_reader import read_script
from app.tools.contract.rules import PermissionRule

GIT_ONLY = (
    PermissionRule("shell", "*", "deny", "project"),
    PermissionRule("shell", "git *", "allow", "project"),
)


@pytest.mark.requirement("authorisation.compound")
@pytest.mark.parametrize(
    "text",
    [
        "git -c alias.x='!touch ran' x", "git -C . -c ALIAS.x='!touch ran' x",
        "git -c core.pager='touch ran' log", "git -c alias.x='-c core.pager=./evil log' x",
        "git -c core.pager=$EVIL log", "git --exec-path=. x", "git --config-env=alias.x=EVIL x",
        "git --config-env alias.x=EVIL x", "git config alias.y '!touch ran'",
        "git config --file x --add core.fsmonitor 'touch ran'", "git config set diff.external ./evil",
        "git rebase --exec 'touch ran' HEAD~1", "git rebase -ix 'touch ran' HEAD~1",
        "git rebase --ex='touch ran'", "git difftool -yx 'touch ran'", "git difftool --extcmd='touch ran'",
        "git bisect run touch ran", "git submodule foreach --recursive 'touch ran'", "git grep -nO./evil x",
        "git grep --open-files=./evil x", "git ls-remote 'ext::sh -c touch% ran'",
        "git fetch --upload-pack='touch ran;' .", "git clone -u ./evil . x",
        "git clone -c core.sshCommand=./evil ssh://a/b", "git push --receive-pack=./evil . HEAD",
        "git merge-index ./evil -a", "git instaweb --httpd=./evil", "git instaweb -d ./evil",
        "git daemon --access-hook=./evil", "git remote-ext x './evil'",
        "git archive --remote=. --exec=./evil HEAD", "git filter-branch --msg-filter 'touch ran' HEAD",
    ],
)  # fmt: skip
async def test_a_rule_for_git_does_not_allow_what_git_is_to_run(desk, text):
    desk.put("evil", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    headless = desk.ruled(*GIT_ONLY, headless=True)
    assert await headless.code("shell.bash", command=text) == "permission_denied"
    assert not (desk.root / "ran").exists()


@pytest.mark.parametrize(
    "text",
    [
        "git -c user.name=x commit -m 'rebase -x y'", "git -c core.pager=cat -c core.fsmonitor=false log",
        "git config user.name alias.x", "git config --get core.editor", "git config alias.co checkout",
        "git config --unset core.pager", "git rebase -i HEAD~2", "git grep -eFOO -n x", "git grep -O x",
        "git bisect start", "git submodule update --init --recursive", "git clone -b x https://a.example/b",
        "git fetch --update-shallow --prune", "git log -- --exec", "git push origin HEAD",
        "git archive HEAD",
    ],
)  # fmt: skip
def test_git_that_runs_nothing_else_is_one_part(text):
    script = read_script(text)
    assert script.readable and [part.name for part in script.parts] == ["git"]


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("git -c alias.x='!rm -rf y' x", "rm -rf y"),
        ("git rebase -x 'rm a' HEAD", "rm a"),
        ("git submodule foreach rm a", "rm a"),
        ("git bisect run sh -c 'rm a'", "rm a"),
    ],
)
async def test_a_denied_command_is_denied_when_git_would_run_it(desk, text, inner):
    ruled = desk.ruled(PermissionRule("shell", "rm *", "deny", "project"))
    envelope = await ruled.call("shell.bash", command=text)
    assert envelope.code == "permission_denied"
    assert envelope.detail["needed"] == f"permission shell for {inner}"
