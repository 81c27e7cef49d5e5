"""Kernel parameters lie where rustc puts them: PTX and manifest against ``offset_of!`` in a native program."""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass

import pytest

from mirgen.errors import InternalError
from mirgen.link import Codegen, Worker, assemble, check_params, find_arch, parse_ptx
from mirgen.link.manifest import Param
from mirgen.link.ptx_info import PtxInfo, PtxParam
from mirgen.testing.conformance import ARCHS, artifact_text, nvvm_ptx
from tests.exec.lanes import FIXTURES, LANES, built

pytestmark = [pytest.mark.cuda, pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class Placed:
    """A parameter in its kernel's block, in bytes."""

    name: str
    offset: int
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class Native:
    """What rustc says: types with size, alignment and offsets of fields; parameters by kernel."""

    types: dict[str, tuple[int, int, dict[str, int]]]
    params: dict[str, list[Placed]]


@functools.cache
def native() -> Native:
    fixture = FIXTURES["params"]
    target = fixture.path.parent / "target" / f"native-{LANES[0].rustc.release}"
    command = ["cargo", "run", "--quiet", "--locked", "--release", "--example", "layouts", "--target-dir", str(target)]
    with LANES[0].active():
        done = subprocess.run(command, cwd=fixture.path, capture_output=True, text=True, check=True)
    found = Native({}, {})
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        if kind == "type":
            name, size, align, *fields = words
            offsets = dict(field.split("=") for field in fields)
            found.types[name] = (int(size), int(align), {field: int(at) for field, at in offsets.items()})
        else:
            kernel, name, *numbers = words
            found.params.setdefault(kernel, []).append(Placed(name, *map(int, numbers)))
    return found


def misplaced(info: PtxInfo) -> list[str]:
    """Where PTX and rustc differ, one line each.  A slice is two parameters, a pointer and a length."""
    lines: list[str] = []
    for kernel, params in native().params.items():
        left = list(info.functions[kernel].params)
        for param in params:
            parts = [part for part in left if param.offset <= part.offset < param.offset + param.size]
            left = [part for part in left if part not in parts]
            lines += [f"{kernel}: {line}" for line in _differences(param, parts)]
        lines += [f"{kernel}: {part.name} is one too many" for part in left]
    return lines


def _differences(param: Placed, parts: list[PtxParam]) -> list[str]:
    if not parts:
        return [f"{param.name} is missing"] if param.size else []
    found = (parts[0].offset, sum(part.size for part in parts), parts[0].align)
    want = (param.offset, param.size, param.align)
    return [] if found == want else [f"{param.name} at, size, align {found}, not {want}"]


def ptx(arch: str, codegen: Codegen) -> str:
    if codegen == "llvm":
        return artifact_text(built("params"), arch, "ptx")
    with Worker() as worker:
        return nvvm_ptx(built("params"), arch, worker)


def test_every_kernel_is_compared() -> None:
    assert native().params.keys() == {kernel.name for kernel in FIXTURES["params"].kernels}


@pytest.mark.parametrize("codegen", ["llvm", "nvvm"])
@pytest.mark.parametrize("arch", ARCHS)
def test_ptx_has_rustcs_offsets(arch: str, codegen: Codegen) -> None:
    assert misplaced(parse_ptx(ptx(arch, codegen))) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (".align 16 .b8 array_u128_param_1[64]", ".align 8 .b8 array_u128_param_1[64]", "array_u128: a at"),
        (".align 16 .b8 aligned_param_1[16]", ".align 8 .b8 aligned_param_1[16]", "aligned: a at"),
        (".b8 nested_param_1[64]", ".b8 nested_param_1[72]", "nested: n at"),
        (".param .u32 bool_char_param_2", ".param .u8 bool_char_param_2", "bool_char: c is missing"),
        (".param .u8 bytes_param_0,", ".param .u16 bytes_param_0,", "bytes: a at"),
    ],
)
def test_a_wrong_place_would_be_seen(old: str, new: str, what: str) -> None:
    text = ptx("sm_90", "llvm")
    assert text.count(old) == 1
    assert [line for line in misplaced(parse_ptx(text.replace(old, new))) if line.startswith(what)]


def test_the_manifest_has_rustcs_offsets() -> None:
    for kernel in built("params").manifest.kernels:
        # rustc does not say what a parameter of no size is called.
        found = [(param.name if param.size else "", param.offset, param.size, param.align) for param in kernel.params]
        want = [
            (param.name if param.size else "", param.offset, param.size, param.align)
            for param in native().params[kernel.name]
        ]
        assert found == want, kernel.name


def test_the_build_compares_them_too() -> None:
    """And refuses to go on."""
    made = built("params")
    names = [kernel.symbol for kernel in made.manifest.kernels]
    cubin = assemble(ptx("sm_90", "llvm"), find_arch("sm_90"), kernels=names)
    nested = made.manifest.kernel("nested")
    check_params("nested", nested.params, cubin.kernels["nested"].params)
    moved: list[Param] = [param.model_copy(update={"offset": param.offset + 4}) for param in nested.params]
    with pytest.raises(InternalError, match=r"kernel `nested`: parameter `\w+` should be bytes"):
        check_params("nested", moved, cubin.kernels["nested"].params)


@pytest.mark.parametrize("name", sorted(native().types) if LANES else [])
def test_the_fixtures_types_are_rustcs(name: str) -> None:
    """The bytes that the tests give to kernels have their fields where rustc has them."""
    size, align, offsets = native().types[name]
    dtypes = [param.dtype for kernel in FIXTURES["params"].kernels for param in kernel.params if same(param.type, name)]
    for dtype in dtypes:
        assert dtype.itemsize == size and size % align == 0
        assert {str(field): where[1] for field, where in (dtype.fields or {}).items()} == offsets


def same(text: str, name: str) -> bool:
    """Whether a fixture's type is the one called ``name``, spaces apart."""
    return text.replace(" ", "") == name


def test_loads_of_a_nested_struct_are_at_rustcs_offsets() -> None:
    """The fields that are no neighbours, in the body of the kernel."""
    _, _, fields = native().types["Nested"]
    _, _, inner = native().types["Inner"]
    body = parse_ptx(ptx("sm_90", "llvm")).functions["nested"].body
    for offset in (fields["first"], fields["inner"] + inner["flag"], fields["letter"]):
        assert f"+{offset}]" in body, offset
