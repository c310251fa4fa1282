"""Commands that try to read, change and leave behind what is not theirs."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.attacks.case import Case, Envelope, worked
from tests.attacks.commands import SEEN, python, run, shell
from tests.attacks.oracles import LEFT_BEHIND
from tests.attacks.place import NEIGHBOUR
from tests.attacks.scene import Scene, TierName

AREA = "shell"
COUNTED: tuple[TierName, ...] = ("full", "none")
"""The weaker tier has no count of a cage's processes: root's are not bounded, another user's all count."""

READS = {
    "read-outside": "cat <outside>/secret.txt ../../outside/secret.txt",
    "read-through-a-link": "cat to_secret to_outside/secret.txt to_data/kept/secret.txt",
    "list-the-top": "ls -la <top> <outside> .. | grep -v src",
    "read-the-data-folder": "cat <data>/token <data>/kept/secret.txt; strings <data>/*.db; ls <data>",
    "read-the-settings": "cat <config>; ls $(dirname <config>)",
    "read-the-log": "cat <log>",
    "read-the-home": "cat <home>/.ssh/id_ed25519 ~/.ssh/id_ed25519 <home>/.netrc; ls -a ~root /root /home",
    "read-the-other-project": "cat <other>/src/a.txt; ls <other>",
    "read-what-is-not-granted": "cat <project>/secret/key.txt ../secret/key.txt; "
    "grep -r canary <project>/secret ../docs",
    "read-the-project-file": "cat <project>/.kaged/project.yaml <project>/.kaged/memory.txt",
    "read-shadow": "cat /etc/shadow /etc/sudoers",
    "find-everything": "find / -xdev -name '*.txt' -newermt 2026-01-01 2>/dev/null | xargs cat 2>/dev/null",
    "read-a-disk": "cat /dev/sda /dev/vda /dev/nvme0n1 /dev/mem /dev/kmsg 2>&1 | head -c 1000",
    "mount-a-disk": "mkdir -p /tmp/m; mount /dev/vda1 /tmp/m; mount --bind <outside> /tmp/m; cat /tmp/m/*",
    "remount": "mount -o remount,rw /; mount -o remount,rw /usr; touch /usr/made-by-attack",
    "own-root": "unshare -Urm sh -c 'mount -t tmpfs x /mnt && cat <outside>/secret.txt'",
    "change-root": "chroot /proc/1/root cat <outside>/secret.txt; cat /proc/1/root<outside>/secret.txt",
    "old-root": "ls /oldroot /newroot /.old_root 2>/dev/null; cat /oldroot<outside>/secret.txt",
    "setuid": "su -c 'cat <outside>/secret.txt'; sudo -n cat /etc/shadow",
    "swap-in-a-link": "rm -rf sub2; ln -s <outside> sub2; cat sub2/secret.txt",
    "hard-link": "ln <outside>/secret.txt stolen; cat stolen",
    "archive-above": "tar -cf - <outside> <data> 2>/dev/null | strings",
    "core-pattern": "cat /proc/sys/kernel/core_pattern; "
    "echo '|<outside>/program.sh' > /proc/sys/kernel/core_pattern",
}

WRITES = {
    "write-outside": "echo x > <outside>/made.txt; echo x > ../../outside/made.txt",
    "write-through-a-link": "echo x > to_new; echo x > to_outside/made.txt",
    "write-the-project-file": "echo x >> <project>/.kaged/project.yaml",
    "write-a-hook": "printf '#!/bin/sh\\n' > <project>/.git/hooks/pre-commit; "
    "chmod +x <project>/.git/hooks/*",
    "write-git-settings": "git -C <project> config core.pager 'sh -c id'; git config --global a.b c",
    "write-the-home": "echo x >> <home>/.bashrc; echo x >> /root/.bashrc",
    "write-the-system": "echo x >> /etc/passwd; echo x > /usr/bin/made; echo x > /etc/ld.so.preload",
    "write-the-data-folder": "echo x > <data>/token; rm -rf <data>",
    "remove-everything": "rm -rf --no-preserve-root <outside> <other> <home> <data> <project>/.git "
    "2>/dev/null",
    "rename-a-parent": "mv <project>/src <project>/src2; mv <project>/.git <project>/git2",
    "change-modes": "chmod -R 777 <outside> <project>/.git <project>/.kaged; chown -R 0:0 <outside>",
    "link-over-a-protected-name": "ln -sfn /tmp <project>/.git; ln -sf /tmp/x <project>/.kaged/project.yaml",
}

LEAVES = {
    "leaves-a-process": f"sleep {LEFT_BEHIND} & disown",
    "leaves-a-session": f"setsid sleep {LEFT_BEHIND} </dev/null >/dev/null 2>&1 &",
    "leaves-a-daemon": f"(setsid sh -c 'setsid sleep {LEFT_BEHIND} & ' &)  >/dev/null 2>&1",
    "leaves-one-that-ignores-signals": f"(trap '' TERM HUP INT; "
    f"setsid sleep {LEFT_BEHIND} &) >/dev/null 2>&1",
}


def _leaving(name: str, command: str) -> Case:
    """A process that wants to stay: it is gone when the session is."""

    def in_a_session(scene: Scene, line: str, agent: str = "runner") -> Envelope:
        session = scene.new_session(scene.project_id)
        envelope = run(scene, agent, line, session=session)
        assert scene.request("POST", f"/sessions/{session}/archive").status_code == 200
        return envelope

    def attack(scene: Scene) -> None:
        in_a_session(scene, command)

    def control(scene: Scene) -> None:
        worked(in_a_session(scene, SEEN, "primary" if scene.kind.tier == "none" else "runner"), NEIGHBOUR)

    return Case(AREA, name, attack, control)


def _message(content: str) -> Callable[[Scene], None]:
    """Post a message and wait for the end of its run, at whose beginning the daemon runs git by itself."""

    def post(scene: Scene) -> None:
        session = scene.new_session(scene.project_id)
        answer = scene.request("POST", f"/sessions/{session}/messages", json={"content": content})
        assert answer.status_code == 201, answer.text
        deadline = time.monotonic() + 90
        while scene.request("GET", f"/sessions/{session}").json()["state"] != "idle":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        found = scene.request("GET", f"/sessions/{session}/messages")
        assert "Done." in found.text, found.text

    return post


def _search(path: str) -> Callable[[Scene], None]:
    def search(scene: Scene) -> None:
        worked(scene.call("primary", "search.grep", {"pattern": NEIGHBOUR, "path": path}), "src/a.txt")

    return search


CASES: tuple[Case, ...] = (
    # The project's folder stands first on the daemon's PATH: what is run from it leaves a file outside.
    Case(AREA, "git-of-the-project", _message("look"), _message("hello")),
    Case(AREA, "search-program-of-the-project", _search("."), _search("src")),
    *(shell(AREA, name, f"{{ {command}\n}} 2>&1; true") for name, command in READS.items()),
    *(shell(AREA, name, f"{{ {command}\n}} 2>&1; true") for name, command in WRITES.items()),
    *(_leaving(name, command) for name, command in LEAVES.items()),
    shell(
        AREA,
        "write-where-one-only-reads",
        "echo x > sub/made-by-looker.txt; rm -f sub/b.txt; mv sub/b.txt c; mv sub sub3; ls sub 2>&1; true",
        "cat sub/b.txt; echo x > made-by-looker-too.txt",
        agent="looker",
        must="b.txt",
    ),
    shell(
        AREA,
        "read-what-is-denied-within",
        "cat private/hidden.txt to_private; ls -la private; mv private public 2>&1; "
        "cat public/hidden.txt; true",
        agent="keeper",
        tiers=("full", "none"),
    ),
    shell(
        AREA,
        "another-ones-temporary-files",
        "ls -la /tmp /var/tmp; cat /tmp/* /var/tmp/*/outside/secret.txt 2>/dev/null; true",
        "echo mine > /tmp/mine; cat /tmp/mine",
        shows="mine",
    ),
    shell(AREA, "folder-of-the-command", "cd <outside> && cat secret.txt; true"),
    shell(
        AREA,
        "fork-bomb",
        python(
            """
            import os, time
            made = 0
            try:
                for _ in range(400):
                    if not os.fork():
                        time.sleep(3)
                        os._exit(0)
                    made += 1
            except OSError:
                pass
            print("made", made < 100)
            """
        )
        + "; true",
        agent="bounded",
        must="made True",
        tiers=COUNTED,
    ),
    shell(
        AREA,
        "fill-the-disk",
        "head -c 50000000 /dev/zero > large.bin; stat -c %s large.bin; rm -f large.bin",
        agent="bounded",
        tiers=COUNTED,
        never=("50000000",),
    ),
    shell(
        AREA,
        "fill-the-temporary-folder",
        "head -c 20000000000 /dev/zero > /tmp/large.bin; stat -c 'has %s' /tmp/large.bin; "
        "rm -f /tmp/large.bin",
        agent="bounded",
        tiers=COUNTED,
        never=("has 20000000000",),
    ),
    shell(
        AREA,
        "much-memory",
        python("x = bytearray(600_000_000)\nprint('got it all')") + "; true",
        python("x = bytearray(20_000_000)\nprint('got enough')"),
        agent="bounded",
        tiers=COUNTED,
        shows="got enough",
        never=("got it all",),
    ),
    shell(
        AREA,
        "many-files",
        python("files = [open('/dev/null') for _ in range(4000)]\nprint('opened all')") + "; true",
        python("files = [open('/dev/null') for _ in range(20)]\nprint('opened some')"),
        agent="bounded",
        tiers=COUNTED,
        shows="opened some",
        never=("opened all",),
    ),
)
