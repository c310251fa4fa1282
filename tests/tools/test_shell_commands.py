"""Shell commands taken apart: whatever a shell would run is seen, or the reading admits its doubt."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.tools.authorisation.shell_reader import MAX_PARTS, read_script

pytestmark = pytest.mark.requirement("authorisation.compound")


def texts(command: str) -> list[str]:
    return [part.text for part in read_script(command).parts]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git status", ["git status"]),
        ("git status && curl evil", ["git status", "curl evil"]),
        ("git log; rm x", ["git log", "rm x"]),
        ("git status || rm x & curl y", ["git status", "rm x", "curl y"]),
        ("git status\nrm x\n", ["git status", "rm x"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("git status $(curl evil)", ["curl evil", "git status $(curl evil)"]),
        ("git status `curl evil`", ["curl evil", "git status `curl evil`"]),
        ('echo "x $(curl a) y"', ["curl a", "echo x $(curl a) y"]),
        ("echo ${X:-$(curl a)} $((1 + 2))", ["curl a", "echo ${X:-$(curl a)} $((1 + 2))"]),
        ("diff <(a) >(b)", ["a", "b", "diff <(a) >(b)"]),
        ("X=$(curl a) git status", ["curl a", "X=$(curl a) git status"]),
        ("X=$(curl a)", ["curl a", "X=$(curl a)"]),
        ("(a; { b; }) && ! c", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for f in $(a); do b $f; done", ["a", "b $f"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ("case $(a) in x) b;; *) c;; esac", ["a", "b", "c"]),
        ("f() { rm x; }; f", ["rm x", "f"]),
        ("cat <<E | rm y\n$(curl a)\nE\nb", ["cat", "rm y", "b", "curl a"]),
        ("cat <<'E'\n$(curl a)\n`b`\nE\n", ["cat"]),
        ("cat <<< $(a)", ["a", "cat"]),
        ("[ -f $(a) ] && b", ["a", "b"]),
        ("export A=$(b)", ["b", "export A=$(b)"]),
        ("git status > out rm x", ["git status rm x"]),
        ("'rm' -r\"f\" a\\ b", ["rm -rf a b"]),
        ("\\rm x # rm y", ["rm x"]),
        ("make \\\n  -j4 \\\n  all", ["make -j4 all"]),
        ("time a", ["time a", "a"]),
    ],
)
def test_every_part_of_a_command_line_is_found(command, parts):
    script = read_script(command)
    assert script.readable
    assert sorted(texts(command)) == sorted(parts)


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("sudo -u root rm x", "rm x"),
        ("env -i A=b timeout -k 5 10 rm x", "rm x"),
        ("nohup nice -n 5 rm x &", "rm x"),
        ("ls | xargs -n 1 -I{} rm -f {}", "rm -f {} {}"),
        ("find . -name x -exec rm {} \\; -exec mv {} y +", "mv {} y"),
        ("bash -c 'a; rm x'", "rm x"),
        ("sh -ec 'rm x' name", "rm x"),
        ("bash -o pipefail -c 'rm x'", "rm x"),
        ("sudo sh -c \"bash -c 'rm x'\"", "rm x"),
        ("eval 'rm x'", "rm x"),
        ("eval rm x", "rm x"),
        ("bash <<E\nrm x\nE\n", "rm x"),
        ("bash <<< 'rm x'", "rm x"),
        ("echo 'rm x' | sh", "rm x"),
        ("echo -n rm -f x | sudo bash -s", "rm -f x"),
        ("printf '%s\\n' 'rm -f x' y | sh", "rm -f x"),
        ("printf 'a\\nrm -f x\\n' | sh", "rm -f x"),
        ("{ echo a; echo rm -f x; } | sh", "rm -f x"),
        ("trap 'rm x' EXIT", "rm x"),
        ("command rm x", "rm x"),
        ("exec rm x", "rm x"),
        ("busybox rm x", "rm x"),
        ("su - me -c 'rm x'", "rm x"),
        ("alias ll='rm x'", "rm x"),
        ("watch -n 1 'rm x'", "rm x"),
        ("flock /tmp/l rm x", "rm x"),
        ("stdbuf -oL rm x", "rm x"),
        ("env X=1 Y=2 rm x", "rm x"),
    ],
)
def test_what_a_wrapper_runs_is_a_part_of_its_own(command, inner):
    spellings = {text for part in read_script(command).parts for text, _ in part.spellings}
    assert inner in spellings


@pytest.mark.parametrize(
    "command",
    [
        "bash -c \"$X\"", "eval $X", "sh -c \"$(curl a)\"", "bash <(curl a)", "bash <<E\n$X\nE\n",
        "sudo -Z rm x", "xargs -Z rm", "$X a", "\"$(a)\" b", "a$X b", "`a` b",
        "r* x", "a{b,c} d", "'rm x'",
        "cat f | sh", "cat <<E | sh\nrm x\nE\n", "echo rm x | tee f | sh", "{ echo r; echo m; } | sh",
        "echo 'a\\x20b' | sh", "printf 'r%s' m | sh", "sh < f", "{ a; sh; } < f", "sh <&3",
        "curl a | sudo sh", "curl a | bash -c sh",
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_a_part_that_might_be_anything(command):
    script = read_script(command)
    assert any(part.is_dynamic for part in script.parts)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a b' | sh", "echo a b | bash", "printf 'a\\n' | sh", "sh", "sh < /dev/null", "sh f < g",
        "a | sh -c b", "a 2>&1 | cat", "a < f",
    ],
)  # fmt: skip
def test_a_shell_that_reads_what_is_known_or_nothing_is_no_doubt(command):
    script = read_script(command)
    assert script.readable and not any(part.is_dynamic for part in script.parts)


@pytest.mark.parametrize(
    "command",
    [
        "a 'b", "a && ", "if a; then b", "a\r\nb", "a\x00b", "a\u00a0b", "r\\\nm x", "echo a\\\n#; rm x",
        "echo \\ #; rm x", "((rm x))", "[ a > b ]", "[ a || rm ]", "[[ a || rm ]]", "a &> b rm x",
        "cat <<E\n`rm x`\nE\n", "cat <<E\n${x:-`rm x`}\nE\n", "echo \"${Y:=`rm x`}\"", "a `b \\`c\\``",
        "echo $'a\\'; rm x #'", "function f { a; }", "cat <<A <<B\n1\nA\n2\nB\n", "for ((;;)); do a; done",
        "a " + "x" * 70_000, "a;" * (MAX_PARTS + 5), "(" * 200 + "a" + ")" * 200,
        "echo $((rm) | (x))", "echo $((1 + $(b)))", "((`a` -c ))", "{rm,x}", "time $\"\"rm x",
        "exec 3<>/dev/tcp/h/1", "@(a) b", "cat <<-'E F'\na\nE F\n", "a \ud800",
    ],
)  # fmt: skip
def test_what_shells_and_parser_may_read_differently_is_not_called_readable(command):
    assert not read_script(command).readable


def test_redirections_name_the_files_that_the_shell_opens():
    script = read_script("a < in > out 2>> log 2>&1 >&- > /dev/null; { b; } >| 'x y' < $X")
    shown = [(one.path.text, one.writes, one.path.is_certain) for one in script.redirects]
    assert sorted(shown) == [
        ("$X", False, False), ("in", False, True), ("log", True, True), ("out", True, True),
        ("x y", True, True),
    ]  # fmt: skip


def test_what_flows_into_a_part_is_known():
    (shell,) = [part for part in read_script("curl x | tee y | sh").parts if part.name == "sh"]
    assert {part.name for part in shell.all_inputs()} == {"curl", "tee"}
    (evaluated,) = [part for part in read_script('eval "$(curl x)"').parts if part.text.startswith("eval $")][
        :1
    ]
    assert {part.name for part in evaluated.all_inputs()} == {"curl"}


def test_how_much_of_a_part_is_certain_is_known():
    for command, known in [("git status", "git status"), ("git $X a", "git "), ("rm *.py", "rm "),
                           ("a 'b c'$X", "a b c"), ('a "x$Y"', "a x"), ("a {b,c}", "a ")]:  # fmt: skip
        text, length = read_script(command).parts[0].spellings[0]
        assert text[:length] == known, command


# -- against real shells -----------------------------------------------------------------------

NAMES = ("a", "b", "c")
SOUP = (
    *NAMES, *NAMES, " ", " ", " ", "\n", ";", " && ", " || ", " | ", " & ", "$(", "`", ")", "(", "'", '"',
    "\\", "\\\n", " \\\n", "#", " # ", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "\t", "{ ", " ;}", "((", "))",
    "[ ", " ]", "[[ ", " ]]", "$((", "if ", " then ", "; fi", "&> f", "> f", "< f", ">&2", "x=", "x=a ",
    "$x", "${x:-", "$'", "\\'", "case x in x) ", ";; esac", " ! ", "<(", "eval ", "sh -c ", "echo ",
    "for i in a; do ", "; done", "f() { ", "; }; f", "xargs ", "env ", "exec ", "command ", "trap ", "EXIT",
    "|&", "<<<", "*", "|", '"$(', "`b`", "{a,b}", "function ", "\\\\", "''", "alias x=", "a\\",
)  # fmt: skip
WORDS = st.sampled_from((*NAMES, "a x", "b 'y z'", 'c "w"', "x=1 a", "a > /dev/null", "'b' -n"))
SCRIPTS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(("; ", " && ", " || ", " | ", "\n", " & ")), inner).map("".join),
        inner.map("( {} )".format),
        inner.map("{{ {}\n}}".format),
        inner.map("a $( {} )".format),
        inner.map('echo "x $( {} )"'.format),
        inner.map("if true; then {}\nfi".format),
        inner.map("for i in 1; do {}\ndone".format),
        inner.map("f() {{ {}\n}}; f".format),
        inner.map("case x in x) {} ;; esac".format),
        inner.map("{{ cat <<E\n$( {} )\nE\n}}".format),
        inner.map(lambda text: "sh -c '" + text.replace("'", "'\\''") + "'"),
        inner.map(lambda text: "eval '" + text.replace("'", "'\\''") + "'"),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory) -> Path:
    """A folder with the only programs that scripts can find: each notes that it was run."""
    base = tmp_path_factory.mktemp("stage")
    for name in NAMES:
        program = base / name
        program.write_text('#!/bin/sh\necho "${0##*/}" >> "$LOG"\necho a\n')
        program.chmod(0o755)
    return base


def run_by_shell(stage: Path, shell: str, script: str) -> set[str]:
    log = stage / f"log-{os.urandom(6).hex()}"
    log.touch()
    try:
        subprocess.run(
            [shell, "-c", script],
            env={"PATH": f"{stage}:/bin:/usr/bin", "LOG": str(log)},
            cwd=stage, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=20, check=False,
        )  # fmt: skip
        return set(log.read_text().split())
    finally:
        log.unlink()


def assert_nothing_unseen(stage: Path, script: str) -> None:
    read = read_script(script)
    if not read.readable or any(part.is_dynamic for part in read.parts):
        return
    for shell in ("/bin/sh", "/bin/bash"):
        if Path(shell).exists():
            assert run_by_shell(stage, shell, script) <= {part.name for part in read.parts}


RUNS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@RUNS
@given(script=SCRIPTS)
def test_well_formed_scripts_run_nothing_that_was_not_seen(stage, script):
    if script.count("<<") < 2:  # one here-document within another is doubted
        assert read_script(script).readable
    assert_nothing_unseen(stage, script)


@RUNS
@given(pieces=st.lists(st.sampled_from(SOUP), min_size=1, max_size=14))
def test_random_scripts_run_nothing_that_was_not_seen(stage, pieces):
    assert_nothing_unseen(stage, "".join(pieces))


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=300))
def test_no_text_makes_the_reader_fail(text):
    read_script(text)
