"""Text that can be written to a file.

Owns: the refusal of unpaired surrogates, which JSON can carry and no encoding can. Never: paths and
patterns, which have errors of their own.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def _whole(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("contains an unpaired surrogate; send whole characters") from None
    return text


WholeText = Annotated[str, AfterValidator(_whole)]
