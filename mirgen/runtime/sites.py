"""The table of places that generated code reports by number, which the host target embeds in its text."""

from __future__ import annotations

import json
import re
from typing import cast

from mirgen.errors import InvalidInputError
from mirgen.runtime.errors import Site
from mirgen.targets.host_abi import SITES

_TABLE = re.compile(rf'^@"?{SITES}"? = .* c"(?P<data>[^"]*)"', re.MULTILINE)
_ESCAPE = re.compile(rb"\\([0-9a-fA-F]{2})")


def sites_of(text: str) -> tuple[Site, ...]:
    """The sites of host IR; none where it has no table.  Raises :class:`InvalidInputError` for a broken one."""
    match = _TABLE.search(text)
    if match is None:
        return ()
    data = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), match["data"].encode())
    try:
        rows = cast("list[tuple[str, str | None, list[str]]]", json.loads(data))
        return tuple(Site(str(message), location, tuple(args)) for message, location, args in rows)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"the table of sites is broken: {error}", "host IR") from error
