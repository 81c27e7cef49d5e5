"""``mirgen.load`` of manifests, its options, and the page that describes it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mirgen
import mirgen.runtime as runtime
from mirgen.errors import InvalidInputError
from mirgen.link.manifest import Artifact, Kernel, Manifest, Param, write_manifest
from mirgen.runtime import LaunchError, SimOptions
from mirgen.runtime.errors import DeviceError
from mirgen.runtime.loading import options_from_environment

from .test_module import SAXPY

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")


def write(folder: Path, *, host: bool = True) -> Path:
    """A manifest of saxpy with the host's code, and a cubin that is none."""
    params = (
        Param(
            name="a", rust_type="f32", kind="scalar", offset=0, size=4, align=4, elem=None, elem_size=0, mutable=False
        ),
        Param(
            name="x", rust_type="&'{erased} [f32]", kind="slice", offset=8, size=16, align=8, elem="f32", elem_size=4,
            mutable=False,
        ),
        Param(
            name="y", rust_type="Disjoint<'{erased}, [f32]>", kind="disjoint", offset=24, size=16, align=8, elem="f32",
            elem_size=4, mutable=True,
        ),
    )  # fmt: skip
    table = rb"[[\22x[{}] is bad\22, \22src/lib.rs:7:1\22, []]]".decode()
    (folder / "host.ll").write_text(f'{SAXPY}\n@__mirgen_sites = internal constant [40 x i8] c"{table}"\n')
    (folder / "k.cubin").write_bytes(b"none")
    return write_manifest(
        Manifest(
            mirgen="0", crate_name="demo", crate_version="0.1.0", profile="release", target="host", rustc="1.95.0",
            tools={},
            kernels=(
                Kernel(
                    name="saxpy", symbol="saxpy", path="demo::saxpy", params=params, static_shared=0,
                    facts={"dimensions": 1},
                ),
            ),
            files={"host.ll": "host.ll"} if host else {},
            artifacts=(
                Artifact(
                    arch="sm_90", codegen="llvm", assembler="ptxas", files={"cubin": "k.cubin"}, resources={}
                ),
            ),
        ),
        folder,
    )  # fmt: skip


@pytest.fixture
def site_table(tmp_path: Path) -> Path:
    path = write(tmp_path)
    # The length that LLVM checks.
    text = (tmp_path / "host.ll").read_text()
    size = len(re.sub(r"\\..", "x", re.findall(r'c"(.*)"', text)[0]))
    (tmp_path / "host.ll").write_text(text.replace("[40 x i8]", f"[{size} x i8]"))
    return path


def test_load_and_launch(site_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRGEN_DEVICE", raising=False)
    for source in (site_table, site_table.parent, str(site_table)):
        m = mirgen.load(source)
        assert (m.name, m.device, list(m)) == ("demo", "sim", ["saxpy"])
        x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
        m.saxpy[1, 32](2.0, x, y)
        assert y.tolist() == (1 + 2 * x).tolist()
    x[3] = np.nan
    with pytest.raises(DeviceError, match=r"x\[3\] is bad\n  --> src/lib.rs:7:1"):
        m.saxpy[1, 32](2.0, x, y)
    assert repr(m.saxpy) == "<mirgen kernel saxpy(a: f32, x: &[f32], y: Disjoint<[f32]>)>"
    with pytest.raises(LaunchError, match="1 dimension"):
        m.saxpy[(1, 2), 32]


def test_what_can_not_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        mirgen.load(tmp_path)
    path = write(tmp_path, host=False)
    with pytest.raises(InvalidInputError, match="without code for the simulator"):
        mirgen.load(path)
    with pytest.raises(InvalidInputError, match="no device 'gpu'"):
        mirgen.load(path, device="gpu")


def test_options_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"SCHEDULE": "random", "SEED": "7", "THREADS": "2", "TIMEOUT": "0.5", "OPT_LEVEL": "1"}
    for name, value in values.items():
        monkeypatch.setenv(f"MIRGEN_SIM_{name}", value)
    assert options_from_environment() == SimOptions("random", 7, 2, 0.5, 1)
    monkeypatch.setenv("MIRGEN_SIM_SEED", "x")
    with pytest.raises(LaunchError, match="MIRGEN_SIM_SEED is 'x'"):
        options_from_environment()
    monkeypatch.setenv("MIRGEN_SIM_SCHEDULE", "sideways")
    with pytest.raises(LaunchError, match="forward, reverse or random"):
        options_from_environment()


def test_public_names() -> None:
    assert callable(mirgen.load) and callable(runtime.load)
    for name in runtime.__all__:
        assert getattr(runtime, name) is not None
    with pytest.raises(AttributeError, match="no attribute `other`"):
        _ = runtime.other  # pyright: ignore


def test_the_page_names_all_options_and_exceptions() -> None:
    for option in SimOptions.__dataclass_fields__:
        assert f"| `{option}` |" in PAGE
    for variable in set(re.findall(r"MIRGEN_SIM_[A-Z_]+", PAGE)):
        assert variable in (Path(mirgen.__file__).parent / "runtime" / "loading.py").read_text(encoding="utf-8")
    for name in re.findall(r"`(\w+Error)`", PAGE):
        assert issubclass(getattr(runtime, name), DeviceError)
