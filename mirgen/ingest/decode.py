"""Bytes to wire models.  Whatever is wrong becomes :class:`InvalidInputError` with the path inside the JSON."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from pydantic import ValidationError

from mirgen.errors import InvalidInputError
from mirgen.ingest.wire import WIRE_VERSION, Wire

T = TypeVar("T", bound=Wire)

_DECIMAL = re.compile(r"-?[0-9]{1,39}")


def read_source(source: Path | str | bytes) -> tuple[bytes, str]:
    """The document's bytes and the name to use for it in messages; a ``str`` is a path."""
    if isinstance(source, bytes):
        return source, "<document>"
    try:
        return Path(source).read_bytes(), str(source)
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise InvalidInputError(f"cannot read: {reason}", str(source)) from None


def decode(model: type[T], data: bytes, name: str) -> T:
    """Validates ``data`` as ``model``.

    Raises :class:`InvalidInputError` whose ``where`` is ``name`` and the JSON path of the first fault.
    """
    try:
        with paused_gc():
            return model.model_validate_json(data)
    except ValidationError as e:
        raise _explain(e, data, name, model) from None


@contextmanager
def paused_gc() -> Generator[None]:
    """No cyclic collections while many long-lived objects are made (they would be scanned again and again)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_decimal(text: str, what: str) -> int:
    """A decimal integer of at most 39 digits; ``what`` names it in the error."""
    if _DECIMAL.fullmatch(text) is None:
        raise InvalidInputError(f"{what}: `{text[:40]}` is not a decimal integer")
    return int(text)


def _explain(error: ValidationError, data: bytes, name: str, model: type[Wire]) -> InvalidInputError:
    errors = error.errors(include_url=False)
    first = errors[0]
    if first["type"] == "json_invalid":
        return InvalidInputError(f"not JSON: {first['msg'].removeprefix('Invalid JSON: ')}", name)
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    for wanted in ("schema", "version"):
        if (at := next((e for e in errors if e["loc"] == (wanted,)), None)) is not None:
            return InvalidInputError(_header_fault(wanted, at["input"], at["type"], model), f"{name}: {wanted}")
    message = first["msg"]
    if first["type"] == "extra_forbidden":
        message = "unknown field"
    elif first["type"] == "missing":
        message = "field is missing"
    elif first["type"] == "union_tag_invalid":
        ctx = first.get("ctx", {})
        message = f"unknown kind {str(ctx.get('tag'))!r}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    path = json_path(first["loc"], document, keep_last=first["type"] == "missing")
    return InvalidInputError(message + more, f"{name}: {path}" if path else name)


def _header_fault(field: str, value: object, kind: str, model: type[Wire]) -> str:
    if kind == "missing":
        return f"no `{field}`: not a mirgen document"
    if field == "version":
        return (
            f"version {value!r}, but this mirgen reads version {WIRE_VERSION}; "
            "write the document again with the mirgen-rustc of the same release"
        )
    info = model.model_fields["schema_"]
    return f"schema {value!r} where {getattr(info.annotation, '__args__', ('?',))[0]!r} is expected"


def json_path(loc: tuple[int | str, ...], document: object, *, keep_last: bool) -> str:
    """pydantic's location as a JSON path: the tags of unions, which are no keys of the document, are left out."""
    out = ""
    here = document
    for i, step in enumerate(loc):
        if isinstance(step, int):
            out += f"[{step}]"
            items = cast("list[object]", here) if isinstance(here, list) else []
            here = items[step] if step < len(items) else None
            continue
        keyed = cast("dict[str, object]", here) if isinstance(here, dict) else {}
        if step in keyed or (keep_last and i == len(loc) - 1):
            out += f".{step}" if out else step
            here = keyed.get(step)
    return out
