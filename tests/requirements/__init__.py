"""The requirements as data, by subject: every guarantee that a test shows, by id.

A test shows a requirement by `@pytest.mark.requirement("storage.backup")`; several ids are fine. That ids and
tests agree is checked by `tests/architecture/test_requirements.py`.
"""

from __future__ import annotations

from tests.requirements.clients import CLIENTS
from tests.requirements.debugger import DEBUGGER
from tests.requirements.deployment import DEPLOYMENT
from tests.requirements.harness import HARNESS
from tests.requirements.images import IMAGES
from tests.requirements.interoperation import INTEROPERATION
from tests.requirements.language_servers import LANGUAGE_SERVERS
from tests.requirements.measured import MEASURED
from tests.requirements.project_file import PROJECT_FILE
from tests.requirements.project_management import PROJECT_MANAGEMENT
from tests.requirements.providers import PROVIDERS
from tests.requirements.replicas import REPLICAS
from tests.requirements.repository import REPOSITORY
from tests.requirements.security import SECURITY
from tests.requirements.sessions import SESSIONS
from tests.requirements.storage import STORAGE
from tests.requirements.tools import TOOLS

REQUIREMENTS: dict[str, str] = {
    **REPOSITORY,
    **SESSIONS,
    **STORAGE,
    **PROJECT_FILE,
    **PROVIDERS,
    **CLIENTS,
    **INTEROPERATION,
    **TOOLS,
    **LANGUAGE_SERVERS,
    **DEBUGGER,
    **HARNESS,
    **PROJECT_MANAGEMENT,
    **SECURITY,
    **MEASURED,
    **DEPLOYMENT,
    **IMAGES,
    **REPLICAS,
}
