"""Routes for models and providers.

Owns: parsing and answering. Never: calling a model (`harness.providers.router` does).
"""

from __future__ import annotations

from operator import attrgetter

from fastapi import APIRouter

from app.api.dependencies import PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.model import PageOf
from app.api.schemas.providers import ModelAnswer, ProviderAnswer, ProviderTestAnswer, TestProvider

router: APIRouter = noun_router("Providers")


@router.get("/models", summary="List the model aliases")
async def list_models(services: ServicesDep, page: PageDep) -> PageOf[ModelAnswer]:
    """The aliases of the local configuration, by name. A project file may also use `provider:model`."""
    found = page_by_name("models", services.providers.list_models(), attrgetter("alias"), page)
    return answer_page(found, ModelAnswer.model_validate)


@router.get("/providers", summary="List the configured providers")
async def list_providers(services: ServicesDep, page: PageDep) -> PageOf[ProviderAnswer]:
    """The providers by name, without credentials; `problem` says whether one is missing."""
    found = page_by_name("providers", services.providers.list_providers(), attrgetter("name"), page)
    return answer_page(found, ProviderAnswer.model_validate)


@router.post("/providers/{name}/test", summary="Make one real call to a provider")
async def test_provider(
    services: ServicesDep, name: str, body: TestProvider | None = None
) -> ProviderTestAnswer:
    """The call is small and may cost a fraction of a cent. The status is 200 also when the call fails: `ok`,
    `error` and `message` have the result."""
    result = await services.providers.test(name, body.model if body is not None else None)
    return ProviderTestAnswer.model_validate(result)
