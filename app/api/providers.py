"""Routes for models and providers.

Owns: parsing and answering. Never: calling a model (`harness.providers.router` does).
"""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.providers import (
    ModelAnswer,
    ModelsAnswer,
    ProviderAnswer,
    ProvidersAnswer,
    ProviderTestAnswer,
    TestProvider,
)

router: APIRouter = noun_router("Providers")


@router.get(
    "/models", operation_id="list_models", summary="List the names that project files may use for models"
)
async def list_models(services: ServicesDep) -> ModelsAnswer:
    """Aliases of the local configuration. A project file may also write `provider:model`."""
    return ModelsAnswer(
        models=[ModelAnswer.model_validate(entry) for entry in services.providers.list_models()]
    )


@router.get("/providers", operation_id="list_providers", summary="List the configured providers")
async def list_providers(services: ServicesDep) -> ProvidersAnswer:
    """No credential is ever shown, only whether one is missing."""
    entries = services.providers.list_providers()
    return ProvidersAnswer(providers=[ProviderAnswer.model_validate(entry) for entry in entries])


@router.post(
    "/providers/{name}/test", operation_id="test_provider", summary="Make one real call to a provider"
)
async def test_provider(
    services: ServicesDep, name: str, body: TestProvider | None = None
) -> ProviderTestAnswer:
    """A small call that may cost a fraction of a cent. The answer is 200 also when the call fails;
    `ok`, `error` and `message` say how it went."""
    result = await services.providers.test(name, body.model if body is not None else None)
    return ProviderTestAnswer.model_validate(result)
