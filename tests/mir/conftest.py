"""rustc's dumps in ``fixtures/mir``, read by the shim."""

from __future__ import annotations

import functools
import json
import lzma
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mirgen.ingest import MirUnit, load_mir

ROOT = Path(__file__).resolve().parents[2]
DUMPS = sorted((ROOT / "fixtures/mir").glob("*/*.mir.xz"))


@dataclass(frozen=True, slots=True)
class Dump:
    """One crate's dump by one release."""

    release: str
    name: str
    text: str
    stable: str


@functools.cache
def _dump(path: Path) -> Dump:
    def text(p: Path) -> str:
        return lzma.decompress(p.read_bytes()).decode()

    name = path.name.removesuffix(".mir.xz")
    return Dump(path.parent.name, name, text(path), text(path.with_name(f"{name}.stable-mir.xz")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dump" in metafunc.fixturenames:
        ids = [f"{p.parent.name}-{p.name.removesuffix('.mir.xz')}" for p in DUMPS]
        metafunc.parametrize("dump", DUMPS, ids=ids, indirect=True)


@pytest.fixture
def dump(request: pytest.FixtureRequest) -> Dump:
    return _dump(request.param)


@pytest.fixture(scope="session")
def shim() -> Path:
    """The shim's binary as cargo built it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "rustc-shim/target")
    for profile in ("release", "debug"):
        if (found := target / profile / "mirgen-rustc").exists():
            return found
    pytest.skip("the shim is not built: cargo build --release --manifest-path rustc-shim/Cargo.toml")


Parse = Callable[..., dict[str, Any]]


@pytest.fixture
def parse(shim: Path, tmp_path: Path) -> Parse:
    """``parse(text, stable=None, release=..)``: the document that the shim makes of a dump's text."""

    def run(text: str, stable: str | None = None, *, release: str = "1.96.0", crate: str = "t") -> dict[str, Any]:
        source, out = tmp_path / "in.mir", tmp_path / "out.json"
        source.write_text(text, encoding="utf-8")
        extra: list[str] = []
        if stable is not None:
            (tmp_path / "in.stable-mir").write_text(stable, encoding="utf-8")
            extra = ["--stable", str(tmp_path / "in.stable-mir")]
        command = [str(shim), "parse", str(source), "--release", release, "--crate-name", crate, "--out", str(out)]
        done = subprocess.run([*command, "--all", *extra], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(out.read_text(encoding="utf-8"))

    return run


@pytest.fixture
def unit(dump: Dump, parse: Parse) -> MirUnit:
    """The dump as MIR, the side channel used."""
    document = parse(dump.text, dump.stable, release=dump.release, crate=dump.name)
    return load_mir(json.dumps(document).encode())
