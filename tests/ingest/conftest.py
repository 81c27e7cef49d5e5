"""The hand-made documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture
def every_construct() -> dict[str, Any]:
    """A MIR document that holds every construct of the wire format once; made anew for each test."""
    return json.loads((DATA / "every-construct.json").read_text(encoding="utf-8"))


@pytest.fixture
def some_layouts() -> dict[str, Any]:
    """A layout document with every kind of layout."""
    return json.loads((DATA / "some-layouts.json").read_text(encoding="utf-8"))
