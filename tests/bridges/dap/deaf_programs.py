"""Programs that take no hint, each with a child in a session of its own, in every runtime; and by which
adapter they are debugged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.bridges.dap.manager import Declared
from tests.driver.debug_adapters import adapter_path, built

_C = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    signal(SIGTERM, SIG_IGN); signal(SIGINT, SIG_IGN); signal(SIGHUP, SIG_IGN);
    int child = fork();
    if (child == 0) { setsid(); for (;;) sleep(1); }
    printf("deaf %d child %d\n", (int)getpid(), child);
    fflush(stdout);
    for (;;) usleep(1000);
}
"""
_PYTHON = """
import os, signal, subprocess, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(f"deaf {os.getpid()} child {child.pid}", flush=True)
while True:
    time.sleep(0.01)
"""
_NODE = """
const { spawn } = require("node:child_process");
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => {});
const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
console.log("deaf", process.pid, "child", child.pid);
setInterval(() => {}, 5);
"""
_GO = """
package main
import ("fmt"; "os"; "os/exec"; "os/signal"; "syscall"; "time")
func main() {
    signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
    child := exec.Command("sleep", "600")
    child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
    if err := child.Start(); err != nil { panic(err) }
    fmt.Println("deaf", os.Getpid(), "child", child.Process.Pid)
    for { time.Sleep(time.Millisecond) }
}
"""
_RUBY = """
%w[TERM INT HUP].each { |name| trap(name) {} }
child = spawn("setsid sleep 600")
puts "deaf #{Process.pid} child #{child}"
$stdout.flush
loop { sleep 0.01 }
"""
_BASH = """
trap '' TERM INT HUP
setsid sleep 600 &
echo "deaf $$ child $!"
while :; do sleep 0.05; done
"""
_PERL = """
$| = 1;
$SIG{$_} = 'IGNORE' for qw(TERM INT HUP);
my $child = fork();
if ($child == 0) { exec 'setsid', 'sleep', '600'; }
print "deaf $$ child $child\\n";
while (1) { select(undef, undef, undef, 0.01); }
"""


@dataclass(frozen=True, slots=True)
class Deaf:
    """A deaf program: its runtime, its source, and the adapter's arguments where the runtime has several
    adapters (None: the one that is found by itself)."""

    runtime: str
    file: str
    source: str
    arguments: tuple[str, ...] | None = None

    def declared(self, name: str) -> tuple[Declared, ...]:
        """Return what is to be declared for the adapter to be used; skips the test without it."""
        program = adapter_path(name)
        if self.arguments is None:
            return ()
        return (Declared(runtime=self.runtime, adapter=(str(program), *self.arguments)),)

    def program(self, root: Path) -> Path:
        """Write the program, build it where that has to be, and return what is launched."""
        source = root / self.file
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(self.source.lstrip())
        return built(source) if source.suffix == ".c" else source


DEAF = {
    "debugpy": Deaf("python", "deaf.py", _PYTHON),
    "lldb-dap": Deaf("c", "deaf.c", _C, ()),
    "gdb": Deaf("c", "deaf.c", _C, ("--interpreter=dap", "--quiet", "--nx")),
    "codelldb": Deaf("c", "deaf.c", _C, ()),
    "delve": Deaf("go", "main.go", _GO),
    "js-debug": Deaf("node", "deaf.js", _NODE),
    "bun": Deaf("bun", "deaf.js", _NODE),
    "rdbg": Deaf("ruby", "deaf.rb", _RUBY),
    "bash-dap": Deaf("bash", "deaf.sh", _BASH),
    "perl": Deaf("perl", "deaf.pl", _PERL),
}
"""By the adapter's name."""
