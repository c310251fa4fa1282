"""Runs pytest or unittest, and stops the debugger at each failure that the runner reports.

Owns: which exceptions fail a test, as the runner itself tells it. What the program or the runner catches
costs nothing, however much it is. Never: importing what is not in Python's library, for the text of this file
is run in the program, by whichever release of Python that has.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import runpy
import sys
import types
from collections.abc import Callable
from typing import Any

MAX_STOPS = 20
_PLUGIN = "kaged_failures"
_stopped: list[type] = []


def _stop(kind: Any, value: Any, trace: Any) -> None:
    """Stop at an exception, in the frames that it came from."""
    trigger = getattr(sys.modules.get("debugpy"), "trigger_exception_handler", None)
    if trace is not None and trigger is not None and len(_stopped) < MAX_STOPS:
        _stopped.append(kind)
        trigger((kind, value, _inner(trace)), as_uncaught=False)


def _inner(trace: Any) -> Any:
    """Return a traceback without the context managers that the exception has left, as a subtest does. What
    has called these comes after them, and the debugger would take the line of that call for its line."""
    while trace.tb_next is not None:
        frame, callers, later = trace.tb_frame, set(), trace.tb_next
        while frame is not None:
            callers.add(frame)
            frame = frame.f_back
        while later is not None and later.tb_frame not in callers:
            later = later.tb_next
        if later is None:
            break
        trace = trace.tb_next
    return trace


def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    """A test or a file of tests has failed. Skips and expected failures do not come here."""
    cause = call.excinfo.value.__cause__
    if call.excinfo.type.__name__ == "CollectError" and cause is not None:
        _stop(type(cause), cause, cause.__traceback__)
    else:
        _stop(call.excinfo.type, call.excinfo.value, call.excinfo.tb)


def pytest_internalerror(excrepr: Any, excinfo: Any) -> None:
    """A plugin or a hook of the project has failed."""
    _stop(excinfo.type, excinfo.value, excinfo.tb)


def pytest_configure(config: Any) -> None:
    """Run the test in this process where the project's options would hand it to workers of xdist."""
    if hasattr(config.option, "dist"):
        config.option.dist = "no"


def _after_stop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stops at the exception that is being handled, and then calls the function."""

    def stopping(*given: Any, **named: object) -> Any:
        _stop(*sys.exc_info())
        return function(*given, **named)

    return stopping


def _of_result(name: str) -> None:
    """Have a method of unittest's TestResult stop at the failure that is its last argument."""
    import unittest

    function = getattr(unittest.TestResult, name)

    def stopping(*given: Any) -> Any:
        if given[-1] is not None:
            _stop(*given[-1])
        return function(*given)

    setattr(unittest.TestResult, name, stopping)


def _watch_pytest() -> None:
    plugin = types.ModuleType(_PLUGIN, __doc__)
    hooks: tuple[Any, ...] = (pytest_exception_interact, pytest_internalerror, pytest_configure)
    plugin.__dict__.update({one.__name__: one for one in hooks})
    sys.modules[_PLUGIN] = plugin
    sys.argv[1:1] = ["-p", _PLUGIN]
    config = __import__("_pytest.config", fromlist=["config"])
    failure = getattr(config, "ConftestImportFailure", None)
    if failure is not None:
        failure.__init__ = _after_stop(failure.__init__)


def _watch_unittest() -> None:
    loader: Any = __import__("unittest.loader", fromlist=["loader"])
    for name in ("addError", "addFailure", "addSubTest"):
        _of_result(name)
    for name in ("_make_failed_import_test", "_make_failed_load_tests"):
        if hasattr(loader, name):
            setattr(loader, name, _after_stop(getattr(loader, name)))


def main() -> None:
    """Run the module that is the first argument, with the others."""
    module = sys.argv.pop(1)
    if module == "pytest":
        _watch_pytest()
    else:
        _watch_unittest()
    runpy.run_module(module, run_name="__main__", alter_sys=True)
