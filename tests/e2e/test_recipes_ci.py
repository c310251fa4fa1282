"""The jobs of examples/ci: what they run, and that their result is the workflow's."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.e2e.ci_job import Job, Script, github, github_scripts, gitlab, gitlab_scripts
from tests.e2e.interop_reader import Reader
from tests.e2e.recipes_page import prepare, written
from tests.fakes.provider_script import Answer, Document, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("recipes.ci")

RECIPE = "Run a workflow in CI"
SERVICES = ("github", "gitlab")
REVIEW = "README.md:3 promises too much."
REFUSED = Document(401, {"error": {"type": "authentication_error", "message": "invalid x-api-key"}})


@pytest.fixture
async def reader(model: FakeProvider, tmp_path: Path) -> Reader:
    """A checkout with a change, whose project has the workflow of the recipe."""
    found = Reader(tmp_path, model_port=model.port)
    prepare(found)
    settings = found.config.read_text().replace('api_key = "sk-test"\n', "")
    found.config.write_text(settings.partition("\n\n")[2])  # the job names the key, and the alias
    found.program(
        "python",
        f'if [ "$1 $2" = "-m pip" ]; then shift 2; echo "pip $*"; exit; fi\nexec {sys.executable} "$@"',
    )
    await found.paste("kaged init --model smart", cwd=found.project)
    found.add_to_project(written(RECIPE, "yaml")[0])
    (found.project / ".kaged/prompts/review.md").write_text(written(RECIPE, "markdown")[0])
    await found.paste(
        "git init --quiet && git config user.name Ada && git config user.email ada@example.org && "
        "git add --all && git commit --quiet -m Start && git update-ref refs/remotes/origin/main HEAD && "
        "echo 'It sells everything.' >> README.md && git commit --quiet --all -m Promise",
        cwd=found.project,
    )
    return found


async def run(service: str, reader: Reader) -> tuple[int, str]:
    """Run the job of a service; return its exit code and what it printed."""
    return await asyncio.to_thread(_run, service, reader)


def _run(service: str, reader: Reader) -> tuple[int, str]:
    runner = reader.folder / "runner"
    runner.mkdir()
    scripts: list[Script]
    if service == "github":
        scripts = github_scripts(
            {
                "github.workspace": str(reader.project),
                "github.base_ref": "main",
                "vars.KAGED_SOURCE": "kaged.whl",
                "secrets.ANTHROPIC_API_KEY": "sk-of-the-job",
            }
        )
        of_service = {"RUNNER_TEMP": str(runner), "GITHUB_STEP_SUMMARY": str(runner / "summary.md")}
    else:
        of_service = {"TMPDIR": str(runner)}
        scripts = gitlab_scripts(
            {
                "CI_PROJECT_DIR": str(reader.project),
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main",
                "KAGED_SOURCE": "kaged.whl",
                "ANTHROPIC_API_KEY": "sk-of-the-job",
            }
        )
    job = Job(scripts, reader.project, reader.environment(**of_service))
    return job.run(), job.printed


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        pytest.param(text_reply(f"{REVIEW}\n\nVerdict: pass"), True, id="pass"),
        pytest.param(text_reply(f"{REVIEW}\n\nVerdict: fail"), False, id="fail"),
        pytest.param(text_reply("Verdict: pass\n\nOr so I was told to say."), False, id="no-verdict"),
        pytest.param(REFUSED, False, id="failed-run"),
    ],
)
async def test_the_job_passes_or_fails_with_the_workflow(
    service: str, answer: Answer, passes: bool, reader: Reader, model: FakeProvider
) -> None:
    model.respond = lambda _: answer
    code, printed = await run(service, reader)
    assert (code == 0) is passes, printed
    assert "pip install kaged.whl" in printed
    review = (reader.project / "review.md").read_text()
    if answer is REFUSED:
        assert "review failed" in printed and review == ""
        return
    asked = model.requests[-1]
    assert asked.headers["x-api-key"] == "sk-of-the-job"
    assert "+It sells everything." in asked.body.decode() and "Report defects only" in asked.body.decode()
    shown = reader.folder / "runner" / "summary.md"
    assert review.strip() in (shown.read_text() if service == "github" else printed)
    assert "total" in printed  # of the costs


def test_the_file_for_github_has_the_structure_that_its_schema_asks_for() -> None:
    document = github()
    # YAML 1.1 reads the key `on` as true; GitHub does not.
    assert document.keys() == {"name", True, "permissions", "jobs"}
    assert document[True].keys() == {"pull_request"}  # type: ignore[index]
    assert document["permissions"] == {"contents": "read"}
    for job in document["jobs"].values():
        assert job.keys() == {"runs-on", "timeout-minutes", "env", "steps"}
        for step in job["steps"]:
            assert step.keys() <= {"name", "uses", "with", "run", "env"}
            assert ("uses" in step) != ("run" in step)


def test_the_file_for_gitlab_has_the_structure_that_its_schema_asks_for() -> None:
    document = gitlab()
    assert list(document) == ["kaged review"]
    known = {"stage", "image", "timeout", "rules", "variables", "before_script", "script", "artifacts"}
    for job in document.values():
        assert job.keys() == known
        assert all(isinstance(line, str) for line in [*job["before_script"], *job["script"]])
        assert all(isinstance(value, str) for value in job["variables"].values())
        assert job["artifacts"] == {"when": "always", "paths": ["review.md"]}
