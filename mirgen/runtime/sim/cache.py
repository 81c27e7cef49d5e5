"""Native code on disk, so that a kernel that was compiled once starts at once in the next process.

One file per module and optimisation level; its first line says what it was made from, and anything else than exactly
that is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast


def read_cached(path: Path, key: str) -> tuple[bytes, dict[str, bool]] | None:
    """The object code and the kernels' kinds, if ``path`` holds them whole and for ``key``."""
    try:
        head, _, image = path.read_bytes().partition(b"\n")
        fields = cast("dict[str, object]", json.loads(head))
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256(image).hexdigest()
    known = isinstance(cast("object", fields), dict)
    if not known or fields.get("key") != key or fields.get("image") != digest:
        return None
    return image, cast("dict[str, bool]", fields["coroutines"])


def write_cached(path: Path, key: str, image: bytes, coroutines: Mapping[str, bool]) -> None:
    """Keeps the code, whole or not at all; a folder that can't be written is no error."""
    head = {"key": key, "image": hashlib.sha256(image).hexdigest(), "coroutines": dict(coroutines)}
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n" + image)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
