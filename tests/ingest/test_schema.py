"""The schemas in ``schemas/`` are those of the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirgen.ingest import schema


def test_schemas_are_fresh() -> None:
    assert schema.stale() == [], "python -m mirgen.ingest.schema --write"


def test_check_and_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(schema, "_FOLDER", tmp_path / "s")
    monkeypatch.setattr(schema.stale, "__defaults__", (tmp_path / "s",))
    monkeypatch.setattr(schema.write, "__defaults__", (tmp_path / "s",))
    assert schema.main(["--check"]) == 1
    assert "mir.schema.json differs" in capsys.readouterr().err
    assert schema.main(["--write"]) == 0 and schema.main(["--check"]) == 0
    (tmp_path / "s/mir.schema.json").write_text("{}")
    assert schema.main(["--check"]) == 1
