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
    checkpoints,
    commands,
    compactions,
    health,
    hooks,
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
    stream,
    todos,
    tokens,
    tools,
    uploads,
    workflows,
)
from app.api.access_middleware import AccessMiddleware
from app.api.boundary import BoundaryMiddleware
from app.api.chat import routes as chat
from app.api.error_handlers import install_error_handlers
from app.api.health import RecentReadiness
from app.api.idempotency import Idempotency
from app.api.mcp import endpoint as mcp
from app.api.openapi_document import document_of, document_text
from app.api.rate_limits import RateLimits
from app.api.scope_rules import BoundOperations
from app.api.web import mount as web_page
from app.config import Settings

PREFIX = "/api/v1"
NOUNS = (
    health,
    projects,
    sessions,
    modes,
    messages,
    runs,
    checkpoints,
    rollbacks,
    compactions,
    interactions,
    issues,
    todos,
    uploads,
    workflows,
    commands,
    tools,
    permissions,
    mcp_servers,
    plugins,
    hooks,
    providers,
    operations,
    tokens,
)


_document = APIRouter()


@_document.get("/openapi.json", include_in_schema=False)
async def get_openapi_document(request: Request) -> Response:
    return Response(document_text(request.app), media_type="application/json")


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
        lifespan=lifespan,
    )
    app.state.idempotency = Idempotency()
    app.state.readiness = RecentReadiness()
    app.include_router(health.root_router)
    app.include_router(launch.router)
    app.include_router(web_page.router)
    app.state.mcp = mcp.McpEndpoint(settings)
    app.router.routes.append(mcp.ROUTE)
    routers = [*(noun.router for noun in NOUNS), stream.router, _document]
    for router in routers:
        app.include_router(router, prefix=PREFIX)
    app.include_router(chat.router)
    app.state.bound_operations = BoundOperations([*((PREFIX, one) for one in routers), ("", chat.router)])
    install_error_handlers(app)
    # The last one added is the outermost.
    app.state.limits = RateLimits(settings.limits)
    app.add_middleware(AccessMiddleware, settings=settings, limits=app.state.limits)
    app.add_middleware(BoundaryMiddleware, settings=settings)
    app.openapi = lambda: document_of(app)  # type: ignore[method-assign]
    return app


def complete_routes(app: FastAPI) -> None:
    """Let the framework finish its routes, which it otherwise does on the first request.

    It takes hundreds of milliseconds: call it in a thread, before the application is served."""
    scope = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
    for route in app.router.routes:
        route.matches(scope)
