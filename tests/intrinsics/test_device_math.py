"""The device crate declares libdevice's functions as they are."""

from __future__ import annotations

import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from mirgen.link import find_tool

DECLARATIONS = Path(__file__).parents[2] / "rustc-shim" / "device" / "src" / "intrinsics" / "math.rs"
USES = DECLARATIONS.parents[1] / "math.rs"
_LLVM = {"f32": "float", "f64": "double", "i32": "i32"}


def _declared() -> dict[str, tuple[str, list[str]]]:
    """``name: (result, parameters)`` in LLVM's types."""
    found = re.findall(r"__mirgen_math_(\w+)\((.*?)\) -> (\w+);", DECLARATIONS.read_text())
    return {
        name: (_LLVM[result], [_LLVM[arg.split(": ")[1]] for arg in args.split(", ")]) for name, args, result in found
    }


@pytest.mark.cuda
def test_every_declaration_is_one_of_libdevice() -> None:
    libdevice = find_tool("libdevice")
    assert libdevice is not None
    text = str(llvm.parse_bitcode(Path(libdevice.path).read_bytes()))
    real: dict[str, tuple[str, list[str]]] = {}
    for result, name, args in re.findall(r"^define .*?(\S+) @__nv_(\w+)\((.*?)\)", text, re.MULTILINE):
        real[name] = (result, [arg.split()[0] for arg in args.split(", ") if arg])
    wrong = {name: (declared, real.get(name)) for name, declared in _declared().items() if declared != real.get(name)}
    assert not wrong


def test_methods_use_declared_functions() -> None:
    declared = _declared()
    assert len(declared) > 200
    used = set(re.findall(r"__mirgen_math_(\w+)", USES.read_text()))
    assert len(used) > 70 and used <= set(declared)
