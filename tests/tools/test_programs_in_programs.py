"""A program that is made to run another is judged by what it runs, or counts as not known."""

from __future__ import annotations

import pytest

from app.tools.authorisation.decision import decide
from app.tools.authorisation.guard import judge_command
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.subjects import subjects_of
from app.tools.contract.rules import PermissionRule

pytestmark = pytest.mark.requirement("security.wrappers")
NO_RM = PermissionRule("shell", "rm *", "deny", "project")
RUNNING = (
    "/bin/[r]m -f x",
    "/bin/r? x",
    "prlimit --nofile=10 rm x",
    "prlimit rm x",
    "setarch x86_64 -R rm x",
    "setarch rm x",
    "linux64 rm x",
    "setpriv --reuid 0 rm x",
    "capsh -- -c 'rm x'",
    "capsh --user=x -- -c 'rm x'",
    "fakeroot rm x",
    "fakeroot -- rm x",
    "bwrap --bind / / rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "ld-linux-x86-64.so.2 --library-path . /bin/rm x",
    "tar cf a b --checkpoint=1 --checkpoint-action=exec='rm x'",
    "tar --to-command='rm x' -xf a",
    "tar -I 'rm x' -xf a",
    "ssh -o ProxyCommand='rm x' h",
    "ssh -oProxyCommand='rm x' h",
    "gdb -ex '!rm x'",
    "gdb -batch -ex 'shell rm x'",
    "vim -c '!rm x'",
    "vim '+!rm x'",
    "ex -sc '!rm x'",
    "sed '1e rm x' f",
    "sed -n 's/.*/rm x/e' f",
    "awk 'BEGIN{system(\"rm x\")}'",
    "find . -exec rm {} +",
    "xargs rm",
    "git -c alias.x='!rm x' x",
    "make SHELL=/bin/x",
    "perl -e 'system(\"rm x\")'",
    "env -S 'rm x'",
    "nsenter -t 1 rm x",
    "unshare rm x",
    "chroot / rm x",
    "busybox rm x",
    "toybox rm x",
    "flock f rm x",
    "watch rm x",
    "script -c 'rm x'",
    "stdbuf -o0 rm x",
    "parallel rm ::: x",
    "rsync -e 'rm x' a b:",
    "scp -S ./rm a b:",
    "zip -TT 'rm x' a b -T",
    "man -P 'rm x' ls",
    "ed f",
    "rg --pre ./x a",
    "rg --pre=./x a",
    "sort --compress-program=./x f",
    "strace -o f rm x",
    "ionice rm x",
    "catchsegv rm x",
    "firejail rm x",
    "systemd-run rm x",
    "start-stop-daemon --exec /bin/rm",
    "run-parts d",
    "dbus-run-session rm x",
    "xvfb-run rm x",
    "proot rm x",
    "tmux new 'rm x'",
    "screen -dm rm x",
    "expect -c 'spawn rm x'",
    "socat a exec:'rm x'",
    "nc -e ./rm h 1",
    "tsocks rm x",
    "torsocks rm x",
    "proxychains rm x",
    "unbuffer rm x",
    "rlwrap rm x",
    "chronic rm x",
    "eatmydata rm x",
    "faketime now rm x",
    "numactl rm x",
    "cgexec -g x:y rm x",
    "time rm x",
    "choom -n 1 rm x",
    "uclampset rm x",
    "ltrace rm x",
    "valgrind rm x",
    "perf stat rm x",
    "gdb --args rm x",
    "entr rm x",
    "fd -x rm",
    "at now",
    "batch",
    "ip netns exec n rm x",
    "sh -c 'rm x'",
    "pkexec rm x",
    "unshare -r rm x",
    "setsid rm x",
    "emacs --eval '(x)'",
    "nvim -c '!rm'",
    "view -c ':!rm x'",
    "bpftrace -e 'BEGIN { system(\"rm x\") }'",
    "dc -e '!rm x'",
    "mysql -e '\\! rm x'",
    "psql -c '\\! rm x'",
    "sqlite3 db '.shell rm x'",
    "php -r 'system(\"rm x\");'",
    "node -e 'require(\"child_process\")'",
    "ruby -e 'system(\"rm x\")'",
    "lua -e 'os.execute(\"rm x\")'",
    "cpio --to-command x",
    "cmake -E env rm x",
    "doas rm x",
    "nice rm x",
    "gcc -wrapper ./rm,x f",
    "ld -plugin ./x",
    "ctags --options=x",
    "logsave f rm x",
    "cpulimit -- rm x",
    "schroot -- rm x",
    "aa-exec rm x",
    "runcon a rm x",
    "chpst -u x rm x",
    "softlimit rm x",
    "s6-setuidgid x rm x",
    "gosu x rm x",
    "su-exec x rm x",
    "tini -- rm x",
    "dumb-init rm x",
)


def actions(desk, command: str) -> set[str]:
    """What one rule against `rm` says to each part of a command line."""
    definition = desk.service.registry.get("shell.bash")
    effects = definition.effects(definition.parameters.model_validate({"command": command}))
    subjects = subjects_of(definition, ("shell.bash",), effects, desk.context)
    return {decide((NO_RM,), subject).action for subject in subjects}


@pytest.mark.parametrize("command", RUNNING)
def test_a_rule_against_a_program_holds_inside_the_programs_that_run_programs(desk, command):
    assert actions(desk, command) & {"deny", "ask"}


@pytest.mark.parametrize(
    "command",
    [
        "prlimit --nofile=10 rm x", "setarch x86_64 -R rm x", "linux64 rm x", "fakeroot -- rm x",
        "bwrap --bind / / rm x", "/lib64/ld-linux-x86-64.so.2 rm x", "capsh -- -c 'rm x'",
        "rsync -e 'rm x' a b:", "split --filter='rm x' f", "ip netns exec n rm x", "setpriv --reuid 0 rm x",
    ],
)  # fmt: skip
def test_what_can_be_recognised_is_denied_and_not_only_asked_about(desk, command):
    assert "deny" in actions(desk, command)


@pytest.mark.parametrize(
    "command",
    [
        "rg --pre-glob '*.pdf' word", "tar czf a.tgz b", "tar --checkpoint=10 -xf a", "sort -u f", "less f",
        "sed -i 's/a/b/g' f", "sed -n '1,5p' f", "awk '{print $1}' f", "awk 'a || b' f", "make test -j4",
        "ssh -p 22 host uptime", "rsync -av a b", "gcc -c a.c -o a", "go test ./...", "perl -ne 'print' f",
        "node index.js", "zip -r a.zip b", "man ls", "vim f", "gdb -batch a", "psql -c 'select 1'",
        "ruby -e 'puts 1'", "apt-get install x", "find . -name x", "nc -zv h 80", "crontab -l",
    ],
)  # fmt: skip
def test_everyday_commands_stay_one_part(command):
    script = read_script(command)
    assert script.readable and len(script.parts) == 1


@pytest.mark.parametrize("command", ["rg --pre ./evil x", "rg --pre=./evil x", "rg --hostname-bin ./evil x"])
async def test_a_rule_for_rg_does_not_allow_what_rg_is_to_run(desk, command):
    rules = (
        PermissionRule("shell", "*", "deny", "project"),
        PermissionRule("shell", "rg *", "allow", "project"),
    )
    desk.put("evil", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    desk.put("x.txt", "x")
    assert await desk.ruled(*rules, headless=True).code("shell.bash", command=command) == "permission_denied"
    assert not (desk.root / "ran").exists()


UNKNOWN = (
    "nsenter --target 1 --mount rm x",
    "script -q /dev/null -- rm x",
    "parallel ::: 'rm x'",
    "echo 'rm x' | parallel",
    "echo 'rm x' | xargs -I{} sh -c {}",
    "xargs -I% sh -c 'echo %; rm %'",
    "sem rm x",
    "npx rm x",
    "npx -c 'rm x'",
    "npm exec -- rm x",
    "uv run rm x",
    "poetry run rm x",
    "watchexec -- rm x",
    "nodemon --exec 'rm x'",
    "hyperfine -w 3 'rm x' 'ls'",
    "docker run --rm alpine rm x",
    "docker compose exec c rm x",
    "kubectl exec p -- rm x",
    "lxc-attach -n c -- rm x",
    "fzf --preview 'rm {}'",
    "fzf --bind 'enter:become(rm x)'",
    "pandoc --filter=./rm f",
    "ansible all -m shell -a 'rm x'",
    "mpirun -n 4 rm x",
    "qemu-x86_64 /bin/rm x",
    "no-such-program --really rm x",
    "./a-script-of-mine rm x",
    "make CC='rm x'",
    "rustup run stable rm x",
    "i686 rm x",
    "ld-2.36.so /bin/rm x",
    "python -c 'import os; os.system(\"rm x\")'",
    'python3 -c \'import subprocess as s; s.run(["rm","x"])\'',
    "python3 - <<< 'import os; os.system(\"rm x\")'",
    "python3 - <<'END'\nimport os\nos.system('rm x')\nEND\n",
    "python3.11 -m timeit -s 'import os' 'os.system(\"rm x\")'",
    "Rscript -e 'system(\"rm x\")'",
    "echo 'syscmd(rm x)' | m4",
    "GIT_PAGER='rm x' git -p log",
    "GIT_SSH_COMMAND='rm x' git fetch",
    "LESSOPEN='|rm x' less f",
    "export PAGER='rm x'; man ls",
    "env - rm x",
    "env -S sh -c 'rm x'",
    "runuser -u a -- rm x",
    "sg g 'rm x'",
    "trap -- 'rm x' EXIT",
    "tcsh -c 'rm x'",
    "yash -c 'rm x'",
    "capsh --shell=/bin/rm -- x",
    "strace -o '|rm x' ls",
    ". /dev/stdin <<< 'rm x'",
    "bash /dev/stdin <<< 'rm x'",
    "source <(echo rm x)",
    "mapfile -C 'rm x' -c 1 a < f",
    "complete -C 'rm x' y",
    "hash -p /bin/rm ls; ls x",
    "enable -f ./x.so y",
    "printf -v 'a[$(rm x)]' 1",
    "test -v 'a[$(rm x)]'",
    "read 'a[$(rm x)]'",
    "let 'a[$(rm x)]'",
    "unset 'a[$(rm x)]'",
    "git archive --remote=ext::'rm x' HEAD",
    "cargo --config 'build.rustc-wrapper=\"./rm\"' build",
    "rustc -Clinker=./rm x.rs",
    "openssl req -engine ./rm",
    "ssh-keygen -D ./rm",
    "foo " + "-a " * 200 + "rm x",
    "foo " + "a " * 1_500 + "rm x",
)


@pytest.mark.parametrize("command", UNKNOWN, ids=lambda command: command[:40])
def test_a_program_that_nobody_knows_is_asked_about_when_it_might_run_what_a_rule_denies(desk, command):
    assert actions(desk, command) & {"deny", "ask"}


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("sh -c 'rm '$X", "deny"), ("xargs -I% sh -c 'rm %'", "deny"), ("runuser -u a -- rm x", "deny"),
        ("env - rm x", "deny"), ("env -S 'rm -f' x", "deny"), ("trap -- 'rm x' EXIT", "deny"),
    ],
)  # fmt: skip
def test_what_is_certain_within_what_is_not_is_denied(desk, command, action):
    assert action in actions(desk, command)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'rm x is bad'", "git rm x", "grep -rn 'rm x' .", "echo 'rm x'", "npm rm lodash",
        "docker rm c", "pytest -k removes", "npm run build", "cat > f <<'END'\nrm x\nEND\n", "rg 'rm x' src",
        "python3 -c 'print(1)'", "./build.sh --fast", "printf '%s' \"$X\"", "read -r line", "test -n \"$X\"",
        ". venv/bin/activate", "export CI=true", "curl -d 'rm x' localhost", "cargo test -- --nocapture",
    ],
)  # fmt: skip
def test_a_rule_against_a_program_asks_nothing_about_others(desk, command):
    assert actions(desk, command) == {"allow"}


def test_who_allows_a_program_by_name_is_not_asked_about_its_words(desk):
    allowed = PermissionRule("shell", "npx *", "allow", "session")
    definition = desk.service.registry.get("shell.bash")
    effects = definition.effects(definition.parameters.model_validate({"command": "npx rm x"}))
    found = subjects_of(definition, ("shell.bash",), effects, desk.context)
    [subject] = [one for one in found if one.kind == "command"]
    assert decide((NO_RM,), subject).uncertain
    assert decide((NO_RM, allowed), subject).action == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "watchexec -- rm -rf /", "docker run --rm alpine rm -rf /", "uv run kaged trust .",
        "python3 -c 'import os; os.system(\"rm -rf ~\")'", "foo --then='dd if=x of=/dev/sda'",
        "python3 -c \"import os; os.execvp('kaged', ['kaged', 'trust'])\"",
    ],
)  # fmt: skip
def test_the_watchdog_asks_about_what_an_unknown_program_may_destroy_or_decide(tmp_path, command):
    assert judge_command(command, tmp_path).action == "ask"


@pytest.mark.parametrize(
    "command",
    ["npm run build", "pytest -k reboot", "echo rm -rf /", "git commit -m 'no rm -rf /'", "make rm"],
)
def test_the_watchdog_asks_nothing_about_everyday_words(tmp_path, command):
    assert judge_command(command, tmp_path).action == "allow"
