"""Models of the interface and of tools are built when they are first needed, not while the daemon starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.requirement("speed.models")
COUNT = """
import gc
collected = []
from app.process_memory import freeze_loaded, load_undisturbed
load_undisturbed()
gc.callbacks.append(lambda phase, info: collected.append(phase))
import app.api.application, app.daemon.lifespan
from app.api.schemas.model import AnswerModel
from app.tools.contract.definition import ToolParams, ToolResult
def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)
models = {one for kind in (AnswerModel, ToolParams, ToolResult) for one in below(kind)}
freeze_loaded()
print(len(models), sum(one.__pydantic_complete__ for one in models), len(collected))
"""


def test_loading_builds_hardly_any_model_and_collects_no_garbage() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    models, built, collected = map(int, done.stdout.split())
    assert models > 150
    assert built < models / 5, done.stdout
    assert collected == 0


def test_the_socket_listens_before_the_framework_is_loaded() -> None:
    heavy = (
        "fastapi",
        "sqlalchemy",
        "sqlmodel",
        "app.api.application",
        "app.daemon",
        "app.harness",
        "app.tools",
    )
    script = f"import app.main, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
