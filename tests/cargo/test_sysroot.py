"""core and alloc for nvptx64, built from the toolchain's own sources."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mirgen.cargo.shim import run_shim
from mirgen.cargo.sysroot import build_sysroot
from mirgen.cargo.toolchain import find_shim, probe
from mirgen.ingest import load_layouts


@pytest.mark.nvptx64
@pytest.mark.slow
@pytest.mark.parametrize(
    ("crate", "sizes"),
    [
        (
            "core",
            {
                "cmp::Ordering": 1,
                "option::Option<(cmp::Ordering, u32)>": 8,
                "num::ParseFloatError": 1,
                "num::imp::dec2flt::common::BiasedFp": 16,  # private
            },
        ),
        ("alloc", {"core::cmp::Ordering": 1, "boxed::Box<u32>": 8, "vec::Vec<core::cmp::Ordering>": 24}),
    ],
)
def test_their_own_types_have_layouts(rustc_196: Path, tmp_path: Path, crate: str, sizes: dict[str, int]) -> None:
    """core compiles without a sysroot, a crate that asks about core's types doesn't."""
    sysroot = build_sysroot(probe(rustc_196))
    unit = tmp_path / f"{crate}.json"
    shutil.copy(sysroot / "units" / f"{crate}.json", unit)
    types, out = tmp_path / "types.json", tmp_path / "out.json"
    types.write_text(json.dumps({"types": [{"text": text} for text in sizes], "roots": [*range(len(sizes))]}))
    run_shim(find_shim(), ["layouts", "--unit", str(unit), "--types", str(types), "--out", str(out), "--quick"])
    answers = load_layouts(out, crate)
    assert answers.failures == {}
    assert {text: answers.layouts[crate, text].size for text in sizes} == sizes
