"""HTTPS: the certificate has to be that of the name, though the connection goes to a vetted address."""

from __future__ import annotations

import ssl
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.bridges.network.conftest import vet
from tests.fakes.web_server import answer, web_server

pytestmark = pytest.mark.requirement("locked.web_fetch.hosts")

CERTIFICATE = Path(__file__).parents[2] / "fixtures" / "web" / "site_test.pem"
"""Key and certificate of `site.test`, signed by itself."""


async def test_a_certificate_counts_for_its_name_alone(web):
    encrypted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encrypted.load_cert_chain(CERTIFICATE)
    web.names.table |= {name: [ip_address("127.0.0.1")] for name in ("site.test", "other.test")}
    web.access.client._vet = vet
    async with web_server(encrypted=encrypted) as server:
        server.pages["/"] = answer("sealed", Content_Type="text/plain")
        unknown = await web.refused(f"https://site.test:{server.port}/")
        assert (unknown.code, "certificate" in unknown.error_text.lower()) == ("host_unreachable", True)
        web.access.client._encrypted = ssl.create_default_context(cafile=str(CERTIFICATE))
        assert await web.text(f"https://site.test:{server.port}/") == "sealed"
        for url in (f"https://other.test:{server.port}/", f"https://127.0.0.1:{server.port}/"):
            assert (await web.refused(url)).code == "host_unreachable"
        assert (await web.refused(f"http://site.test:{server.port}/")).code in {
            "bad_response",
            "host_unreachable",
        }
        assert len(server.requests) == 1
