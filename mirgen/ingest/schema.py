"""The JSON Schemas in ``schemas/``, generated from the wire models.

``python -m mirgen.ingest.schema --check`` compares the files with the models, ``--write`` makes them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from mirgen.ingest import wire

_MODELS: dict[str, tuple[type[wire.Wire], str]] = {
    "mir.schema.json": (wire.MirDocument, "MIR bodies that mirgen-rustc read from rustc's text"),
    "layout.schema.json": (wire.LayoutDocument, "Layouts that mirgen-rustc asked rustc for"),
}
_FOLDER = Path(__file__).resolve().parents[2] / "schemas"


def schema_texts() -> dict[str, str]:
    """File name to the file's text."""
    out: dict[str, str] = {}
    for name, (model, title) in _MODELS.items():
        schema = model.model_json_schema(by_alias=True)
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        out[name] = json.dumps({**head, **{k: v for k, v in schema.items() if k != "title"}}, indent=1) + "\n"
    return out


def stale(folder: Path = _FOLDER) -> list[str]:
    """Names of schema files that are missing or differ from the models."""
    return [
        name
        for name, text in schema_texts().items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def write(folder: Path = _FOLDER) -> None:
    """Writes every schema file."""
    folder.mkdir(exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_text(text, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 where everything agrees."""
    parser = argparse.ArgumentParser(prog="python -m mirgen.ingest.schema", description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--check", action="store_true", help="compare the files with the models")
    group.add_argument("--write", action="store_true", help="write the files")
    args = parser.parse_args(argv)
    if args.write:
        write()
        return 0
    found = stale()
    for name in found:
        print(f"schemas/{name} differs from mirgen/ingest/wire.py", file=sys.stderr)
    if found:
        print("write them again: python -m mirgen.ingest.schema --write", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
