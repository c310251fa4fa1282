"""How programs in a cage are told where the proxy is.

Owns: the variables. Never: the proxy.
"""

from __future__ import annotations

HERE = "localhost,127.0.0.1,::1"
"""Never asked of the proxy: in a cage it is the cage itself."""


def proxy_variables(port: int) -> dict[str, str]:
    """Return the environment for a proxy at the loopback's `port`.

    `ALL_PROXY` names HTTP, too: common libraries fail on a SOCKS address for which they have no package.
    The same port speaks SOCKS 5 to whoever is told so (`socks5h://127.0.0.1:PORT`)."""
    address = f"http://127.0.0.1:{port}"
    variables = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": HERE}
    return {
        **variables,
        **{name.lower(): value for name, value in variables.items()},
        "NODE_USE_ENV_PROXY": "1",
    }
