"""What a command learns of the daemon by its environment, its descriptors and /proc."""

from __future__ import annotations

from tests.attacks.case import Case
from tests.attacks.commands import python, shell
from tests.attacks.scene import TIERS, TierName

NAMESPACES: tuple[TierName, ...] = ("full", "none")
"""What needs process namespaces: not held by the weaker tier."""

ENVIRONMENT: dict[str, str] = {
    "own-variables": "env; export -p; set",
    "of-the-first-process": "tr '\\0' '\\n' < /proc/1/environ",
    "of-the-parent": "tr '\\0' '\\n' < /proc/$PPID/environ; cat /proc/$PPID/cmdline",
    "of-everybody": "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done",
    "of-the-daemon": "tr '\\0' '\\n' < /proc/<daemon_pid>/environ; cat /proc/<daemon_pid>/cmdline",
    "by-a-login-shell": "bash -lc env; sh -c 'echo $ATTACK_SECRET$AWS_SECRET_ACCESS_KEY$KAGED_CONFIG'",
    "agent-of-ssh": "echo $SSH_AUTH_SOCK; ssh-add -l",
    "loader-variables": "LD_PRELOAD=<outside>/program.sh PYTHONSTARTUP=<outside>/secret.txt "
    "/usr/bin/python3 -c pass",
    "start-file-of-the-shell": "ENV=<outside>/program.sh BASH_ENV=<outside>/program.sh bash -c true",
}

PROC: dict[str, str] = {
    "memory-of-the-daemon": "head -c 9 /proc/<daemon_pid>/mem; cat /proc/<daemon_pid>/maps",
    "memory-of-the-first-process": "cat /proc/1/maps /proc/1/mem | head -c 200; "
    "ls -la /proc/1/fd /proc/1/exe",
    "root-of-the-daemon": "cat /proc/<daemon_pid>/root<outside>/secret.txt; ls /proc/<daemon_pid>/cwd/",
    "descriptors-of-the-daemon": "ls -la /proc/<daemon_pid>/fd; cat /proc/<daemon_pid>/fd/* | head -c 500",
    "mounts-of-the-daemon": "cat /proc/<daemon_pid>/mountinfo; cat /proc/<daemon_pid>/stat",
    "signal-to-the-daemon": "kill -9 <daemon_pid>; kill -TERM -1; killall -9 python3",
    "priority-of-the-daemon": "renice 19 <daemon_pid>; taskset -p 1 <daemon_pid>",
    "write-a-sysctl": "echo 0 > /proc/sys/kernel/randomize_va_space; echo x > /proc/sys/kernel/hostname; "
    "sysctl -w kernel.hostname=made",
    "trigger-the-kernel": "echo b > /proc/sysrq-trigger; echo 1 > /proc/self/oom_score_adj",
    "out-of-memory-score": "echo -1000 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj",
    "keys": "cat /proc/keys /proc/kallsyms | head -5; keyctl show; keyctl add user a b @u",
    "own-user-map": "echo '0 0 1' > /proc/self/uid_map",
    "kernel-modules": "modprobe dummy; insmod /dev/null; cat /proc/kcore | head -c 10",
    "control-groups": "mkdir /sys/fs/cgroup/made; echo $$ > /sys/fs/cgroup/cgroup.procs; "
    "umount /sys/fs/cgroup",
    "host-name": "hostname made-by-attack; hostname",
}

DESCRIPTORS = python(
    """
    import os
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        print(name, target)
        if int(name) > 2 and not target.startswith(("/proc", "pipe:", "/dev/pts", "/dev/null")):
            print("a descriptor too many")
        for up in ("..", "../..", "../../.."):
            try:
                inside = os.open(up + "/outside/secret.txt", os.O_RDONLY, dir_fd=int(name))
                print(os.read(inside, 100))
            except OSError:
                pass
    """
)


def _all(area: str, commands: dict[str, str]) -> tuple[Case, ...]:
    return tuple(shell(area, name, f"{{ {command}\n}} 2>&1; true") for name, command in commands.items())


CASES: tuple[Case, ...] = (
    *_all("environment", ENVIRONMENT),
    shell(
        "environment",
        "of-the-project-file",
        "env",
        "FOO=bar; export FOO; env",
        shows="FOO=bar",
        never=("KAGED_CONFIG", "KAGED_DAEMON", "ATTACK_SECRET", "AWS_SECRET", "SSH_AUTH_SOCK", "PYTHONPATH"),
    ),
    shell("environment", "descriptors", DESCRIPTORS, never=("a descriptor too many",)),
    *_all("proc", PROC),
    shell(
        "proc",
        "processes-of-the-machine",
        "ls -d /proc/<daemon_pid> 2>&1; ps ax 2>/dev/null | grep -c 'app serve'; true",
        "ls -d /proc/$$",
        shows="/proc/",
        never=("/proc/<daemon_pid>\n",),
        tiers=NAMESPACES,
    ),
    shell(
        "proc",
        "trace-the-first-process",
        python(
            """
            import ctypes, os
            libc = ctypes.CDLL(None, use_errno=True)
            for pid in (1, <daemon_pid>):
                print("traced" if libc.ptrace(16, pid, 0, 0) == 0 else "refused", pid)
            """
        ),
        agent="relaxed",
        tiers=TIERS,
        never=("traced 1\n", "traced <daemon_pid>"),
    ),
)
