"""Routes for models and providers.

Owns: parsing and answering. Never: calling a model (`harness.providers.router` does).
"""

from __future__ import annotations

from operator import attrgetter

from fastapi import APIRouter, Request

from app.api.dependencies import OperatorDep, PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.model import PageOf
from app.api.schemas.providers import (
    ModelAnswer,
    ProviderAnswer,
    ProviderTestAnswer,
    SetProviderKey,
    TestProvider,
)
from app.api.secret_transport import refuse_readable_secret
from app.daemon.services import Services
from app.errors import ValidationFailed
from app.harness.providers.key_file import ProviderKeys

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


@router.put("/providers/{name}/key", summary="Store the key of a provider")
async def set_provider_key(
    request: Request, services: ServicesDep, operator: OperatorDep, name: str, body: SetProviderKey
) -> ProviderAnswer:
    """The key is written to a private file of the data folder, and counts from the next model call on. It is
    never returned. Only over TLS, or on the daemon's own machine (403, `not_encrypted`); 409
    (`key_in_settings`) when the settings give the provider its key."""
    refuse_readable_secret(request, operator, f"run `kaged providers key {name}` on the daemon's machine")
    key = body.key.get_secret_value().strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValidationFailed(
            "This is no key.", fields={"key": "must be visible ASCII characters without spaces"}
        )
    return ProviderAnswer.model_validate(await _keys(services).put(name, key))


@router.delete("/providers/{name}/key", summary="Delete the stored key of a provider")
async def delete_provider_key(services: ServicesDep, operator: OperatorDep, name: str) -> ProviderAnswer:
    """From the next model call on the provider uses its usual environment variable, if that is set."""
    return ProviderAnswer.model_validate(await _keys(services).delete(name))


def _keys(services: Services) -> ProviderKeys:
    return ProviderKeys(services.settings.daemon.data_dir, services.providers, services.redactor)
