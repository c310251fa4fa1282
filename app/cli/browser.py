"""Opening a page in the user's browser.

Owns: which browser is opened. Never: the address. The browser outlives the command: it is no child process of
kaged's.
"""

from __future__ import annotations

import webbrowser

_TEXT_BROWSERS = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})
"""Browsers that would take over the terminal."""


def find_browser() -> webbrowser.BaseBrowser | None:
    """Return the browser of this desktop, or of `BROWSER`; None without one, as over SSH."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return None
    return None if getattr(browser, "basename", "") in _TEXT_BROWSERS else browser
