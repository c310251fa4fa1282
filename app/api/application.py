"""The HTTP application: routers, gates and error handling in their order.

Owns: putting the parts of `api` together. Never: building services; the caller sets
`app.state.services` before the first request.
"""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import StatefulLifespan, StatelessLifespan

from app import __version__
from app.api import (
    attempts,
    changes,
    checkpoints,
    commands,
    compactions,
    files,
    git,
    health,
    hooks,
    inbox,
    interactions,
    issues,
    launch,
    mcp_servers,
    messages,
    modes,
    operations,
    permissions,
    plugins,
    projects,
    providers,
    rollbacks,
    runs,
    sessions,
    sharing,
    stream,
    todos,
    tokens,
    tools,
    uploads,
    workflows,
    workspaces,
)
from app.api.access_log import AccessLogMiddleware
from app.api.access_middleware import AccessMiddleware
from app.api.boundary import BoundaryMiddleware
from app.api.chat import routes as chat
from app.api.error_handlers import install_error_handlers
from app.api.health import RecentReadiness
from app.api.idempotency import Idempotency
from app.api.kaged_route import PREFIX
from app.api.mcp import endpoint as mcp
from app.api.openapi_document import document_of, document_text
from app.api.owner_rules import ReadsFromRows
from app.api.project_owner import Owners
from app.api.rate_limits import RateLimits
from app.api.scope_rules import BoundOperations
from app.api.web import mount as web_page
from app.config import Settings

NOUNS = (
    health,
    projects,
    files,
    sessions,
    sharing,
    modes,
    messages,
    runs,
    checkpoints,
    rollbacks,
    workspaces,
    attempts,
    changes,
    compactions,
    interactions,
    inbox,
    issues,
    todos,
    uploads,
    workflows,
    commands,
    tools,
    permissions,
    git,
    mcp_servers,
    plugins,
    hooks,
    providers,
    operations,
    tokens,
)


_document = APIRouter(prefix=PREFIX)


@_document.get("/openapi.json", include_in_schema=False)
def get_openapi_document(request: Request) -> Response:
    """On a thread: the first request builds the document, which takes half a second."""
    return Response(document_text(request.app), media_type="application/json")


_ROUTERS = (
    health.root_router,
    launch.router,
    web_page.router,
    *(noun.router for noun in NOUNS),
    stream.router,
    _document,
    chat.router,
)
_ROUTES = [route for router in _ROUTERS for route in router.routes]


def build_application(
    settings: Settings,
    *,
    lifespan: StatelessLifespan[FastAPI] | StatefulLifespan[FastAPI] | None = None,
) -> FastAPI:
    """Return the application. The caller sets `app.state.services`."""
    app = FastAPI(
        title="kaged",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        servers=[{"url": settings.daemon.base_path}] if settings.daemon.base_path else None,
        lifespan=lifespan,
    )
    app.state.idempotency = Idempotency()
    app.state.readiness = RecentReadiness()
    app.state.mcp = mcp.McpEndpoint(settings)
    # Not `include_router`: it builds every route once more, which takes as long as the first time.
    app.router.routes += [*_ROUTES, mcp.ROUTE]
    app.state.bound_operations = BoundOperations(_ROUTES, for_chats=[mcp.ROUTE.path])
    install_error_handlers(app)
    # The last one added is the outermost.
    app.state.limits = RateLimits(settings.limits)
    owners = Owners(ReadsFromRows(_ROUTES))
    app.add_middleware(AccessMiddleware, settings=settings, limits=app.state.limits, owners=owners)
    app.add_middleware(BoundaryMiddleware, settings=settings)
    if settings.daemon.access_log:
        app.add_middleware(AccessLogMiddleware, routes=app.router.routes)
    app.openapi = lambda: document_of(app)  # type: ignore[method-assign]
    return app
