"""PTX from all three producers: parameters, memory spaces, barriers, panics, atomics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pytest
from llvmlite import ir

from mirgen.errors import UnsupportedError
from mirgen.layout.builder import LayoutMaker
from mirgen.link.arch import find_arch
from mirgen.link.assemble import assemble
from mirgen.link.compile import Codegen, compile_ptx
from mirgen.link.worker import Worker
from mirgen.lower import Lowered, lower_program
from mirgen.lower.callsite import CallSite, Handler, Lookup
from mirgen.lower.context import FunctionContext
from mirgen.lower.types import I64
from mirgen.lower.value import Scalar, Value
from mirgen.mir import body as m
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, binary, cast, const, constant_index, deref, field, index, program, unary
from mirgen.targets.host import HostTarget
from mirgen.targets.host_abi import ENTRY
from mirgen.targets.nvptx import NvptxTarget

#: LLVM, libNVVM's old dialect, its new one.
PRODUCERS: tuple[tuple[Codegen, str], ...] = (("llvm", "sm_90"), ("nvvm", "sm_90"), ("nvvm", "sm_100"))
PtxOf = Callable[[Lowered, Codegen, str], str]
Emit = Callable[[FunctionContext, ir.Value, ir.Value], ir.Value]

pytestmark = pytest.mark.cuda


@pytest.fixture
def ty() -> LayoutMaker:
    return LayoutMaker()


def _lookup(path: str) -> Handler | None:
    name = path.rsplit("::", 1)[-1]
    match name.split("_"):
        case ["", "", "mirgen", "barrier"]:
            return lambda fx, call: fx.cx.target.barrier(fx)
        case ["", "", "mirgen", ("tid" | "ntid" | "ctaid" | "nctaid") as register, axis]:
            return lambda fx, call: Scalar(fx.cx.target.special_register(fx, register, axis), call.result_layout)
        case _:
            return None


def _lower(ty: LayoutMaker, *bodies: m.Body, kernels: Sequence[str] = ("k",), lookup: Lookup = _lookup) -> Lowered:
    return lower_program(program(*bodies, kernels=kernels), ty.layouts, NvptxTarget(), intrinsics=lookup)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.fixture
def ptx_of(worker: Worker) -> Callable[[Lowered, Codegen, str], str]:
    """PTX of a program at -O3."""

    def run(lowered: Lowered, codegen: Codegen, arch: str) -> str:
        kernels = [kernel.name for kernel in lowered.kernels]
        return compile_ptx(lowered.text, find_arch(arch), codegen=codegen, kernels=kernels, worker=worker).ptx

    return run


def _device(ty: LayoutMaker, path: str, arg: t.Ty, layout_of: t.Ty) -> t.Ty:
    made = t.AdtTy(f"{path}<{arg.text}>", ty.crate, path, (arg,), ())
    ty.layouts[made.key] = ty.layouts[layout_of.key]
    return made


def _disjoint(ty: LayoutMaker, elem: t.Ty) -> t.Ty:
    slice_ = ty.slice(elem)
    return _device(ty, "mirgen_device::disjoint::Disjoint", slice_, ty.ref(slice_, mut=True))


def _shared(ty: LayoutMaker, elem: t.Ty, count: int) -> t.Ty:
    array = ty.array(elem, count)
    return _device(ty, "mirgen_device::shared::Shared", array, ty.ref(array, mut=True))


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_parameters_have_rustc_size_and_alignment(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    a16 = ty.struct("A16", [ty.u8, ty.u32], align=16)
    wide = ty.array(ty.u128, 4)
    bytes_ = ty.array(ty.u8, 3)
    pair = ty.tuple(ty.u32, ty.bool)
    option = ty.option_of(ty.bool)
    args = [ty.u8, ty.bool, ty.char, ty.u16, ty.f64, ty.u128, a16, wide, bytes_, pair, option,
            ty.ref(ty.slice(ty.f32)), ty.ref(ty.u64), ty.unit, _disjoint(ty, ty.u32)]  # fmt: skip
    b = BodyBuilder("k", args=args, ret=ty.unit)
    zero = b.let(ty.usize, const(ty.usize, 0))
    total = b.let(ty.u32, cast("IntToInt", b.arg(0), ty.u32))
    for value in (b.arg(1), b.arg(2), b.arg(3)):
        total = b.let(ty.u32, binary("Add", total, b.let(ty.u32, cast("IntToInt", value, ty.u32))))
    high = b.let(ty.u128, constant_index(b.arg(7), 3, 4))
    for value in (field(b.arg(6), 1, ty.u32), field(b.arg(9), 0, ty.u32)):
        total = b.let(ty.u32, binary("Add", total, value))
    for value in (constant_index(b.arg(8), 2, 3), b.arg(5), high, deref(b.arg(12))):
        total = b.let(ty.u32, binary("Add", total, b.let(ty.u32, cast("IntToInt", value, ty.u32))))
    raw = ty.ref(ty.slice(ty.u32), mut=True)
    view = b.let(raw, cast("Transmute", b.arg(14), raw))
    b.assign(index(deref(view), zero), total)
    b.return_()
    lowered = _lower(ty, b.build())
    (abi,) = lowered.kernels
    kinds = [(p.kind, p.offset, p.size, p.align) for p in abi.params]
    assert kinds == [
        ("scalar", 0, 1, 1), ("scalar", 1, 1, 1), ("scalar", 4, 4, 4), ("scalar", 8, 2, 2), ("scalar", 16, 8, 8),
        ("scalar", 32, 16, 16), ("aggregate", 48, 16, 16), ("aggregate", 64, 64, 16), ("aggregate", 128, 3, 1),
        ("aggregate", 132, 8, 4), ("aggregate", 140, 1, 1), ("slice", 144, 16, 8), ("ref", 160, 8, 8),
        ("aggregate", 168, 0, 1), ("disjoint", 168, 16, 8),
    ]  # fmt: skip
    ptx = ptx_of(lowered, codegen, arch)
    entry = ptx[ptx.index(".entry k(") : ptx.index("{", ptx.index(".entry k("))]
    params = [re.sub(r"\s+", " ", line.strip().rstrip(",")) for line in entry.splitlines() if ".param" in line]
    assert _offsets(params) == [0, 1, 4, 8, 16, 32, 48, 64, 128, 132, 140, 144, 152, 160, 168, 176]


def _offsets(params: Sequence[str]) -> list[int]:
    """Where the driver expects each ``.param`` in the packed block."""
    offsets: list[int] = []
    at = 0
    for param in params:
        array = re.search(r"\.align (\d+) \.b8 \S+\[(\d+)\]", param)
        if array:
            align, size = int(array[1]), int(array[2])
        else:
            kind = re.search(r"\.param \.[ubsf](\d+)", param)
            assert kind, param
            align = size = int(kind[1]) // 8
        at = (at + align - 1) // align * align
        offsets.append(at)
        at += size
    return offsets


def _copy_kernel(ty: LayoutMaker, source: t.Ty, elem: t.Ty) -> m.Body:
    """``out[tid] = x[tid]`` with a bounds assertion."""
    raw = ty.ref(ty.slice(elem), mut=True)
    b = BodyBuilder("k", args=[source, _disjoint(ty, elem)], ret=ty.unit)
    tid = b.local(ty.u32)
    b.call(tid, ty.fn_def("mirgen_device::intrinsics::__mirgen_tid_x", [], ty.u32, abi="C"))
    i = b.let(ty.usize, cast("IntToInt", tid, ty.usize))
    n = b.let(ty.usize, unary("PtrMetadata", b.arg(0)))
    ok = b.let(ty.bool, binary("Lt", i, n))
    b.assert_(ok, "index out of bounds: the length is {} but the index is {}", n, i)
    view = b.let(raw, cast("Transmute", b.arg(1), raw))
    b.assign(index(deref(view), i), index(deref(b.arg(0)), i))
    return b.return_().build()


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_slices_are_global_memory_and_read_only_where_nothing_can_write(
    ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf
) -> None:
    ptx = ptx_of(_lower(ty, _copy_kernel(ty, ty.ref(ty.slice(ty.u32)), ty.u32)), codegen, arch)
    assert re.search(r"ld\.global\.nc\.\w?32", ptx), ptx
    assert re.search(r"st\.global\.\w?32", ptx), ptx


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_cells_are_neither_noalias_nor_readonly(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    """``&[AtomicU32]``, ``&[Cell<u32>]``, a user's own struct: nothing is known about who writes."""
    cell = ty.struct("core::sync::atomic::AtomicU32", [ty.u32])
    lowered = _lower(ty, _copy_kernel(ty, ty.ref(ty.slice(cell)), cell))
    assert "noalias" not in lowered.text and "readonly" not in lowered.text
    ptx = ptx_of(lowered, codegen, arch)
    assert ".nc." not in ptx and re.search(r"ld\.global\.\w?32", ptx), ptx


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_an_out_of_range_index_still_traps_at_o3(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    lowered = _lower(ty, _copy_kernel(ty, ty.ref(ty.slice(ty.u32)), ty.u32))
    assert [site.message for site in lowered.panics] == ["index out of bounds: the len is {} but the index is {}"]
    ptx = ptx_of(lowered, codegen, arch)
    body = ptx[ptx.index(".entry k(") :]
    assert re.search(r"setp\.\w+\.u64", body) and "trap;" in body, ptx
    assert "call" not in body, "a call would cost registers"


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_line_tables(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    """``.loc`` on the way from the body, which is inlined, to the entry; ptxas takes it."""
    b = BodyBuilder("k", args=[_disjoint(ty, ty.u32)], ret=ty.unit, file="src/lib.rs")
    raw = ty.ref(ty.slice(ty.u32), mut=True)
    b.line(41)
    view = b.let(raw, cast("Transmute", b.arg(0), raw))
    b.scope(inlined="store", call_line=42)
    b.line(77).assign(constant_index(deref(view), 0, 1), const(ty.u32, 5))
    b.in_scope(0).line(43).return_()
    lowered = lower_program(
        program(b.build()), ty.layouts, NvptxTarget(), debug=True, intrinsics=_lookup
    )  # fmt: skip
    ptx = ptx_of(lowered, codegen, arch)
    assert re.search(r'\.file\s+\d+ ".*lib\.rs"', ptx) and re.search(r"\.loc\s+\d+ 77", ptx), ptx
    assert assemble(ptx, find_arch(arch)).entries


def _reduction(ty: LayoutMaker) -> m.Body:
    """Each thread writes its element of block memory, waits, and reads its neighbour's, through a helper."""
    shared = _shared(ty, ty.u32, 64)
    raw = ty.ref(ty.array(ty.u32, 64), mut=True)
    b = BodyBuilder("k", args=[_disjoint(ty, ty.u32), shared], ret=ty.unit)
    tid = b.local(ty.u32)
    b.call(tid, ty.fn_def("__mirgen_tid_x", [], ty.u32, abi="C"))
    i = b.let(ty.usize, cast("IntToInt", tid, ty.usize))
    view = b.let(raw, cast("Transmute", b.arg(1), raw))
    b.assign(index(deref(view), i), tid)
    b.call(b.local(ty.unit), ty.fn_def("wait", [], ty.unit))
    j = b.let(ty.usize, binary("BitXor", i, const(ty.usize, 1)))
    out_ty = ty.ref(ty.slice(ty.u32), mut=True)
    out = b.let(out_ty, cast("Transmute", b.arg(0), out_ty))
    b.assign(index(deref(out), i), index(deref(view), j))
    b.call(b.local(ty.unit), ty.fn_def("wait", [], ty.unit))
    return b.return_().build()


def _wait(ty: LayoutMaker) -> m.Body:
    w = BodyBuilder("wait", ret=ty.unit)
    w.call(w.ret, ty.fn_def("mirgen_device::intrinsics::__mirgen_barrier", [], ty.unit, abi="C"))
    return w.return_().build()


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_block_memory_and_barriers(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    lowered = _lower(ty, _reduction(ty), _wait(ty))
    (abi,) = lowered.kernels
    assert abi.static_shared == 256
    assert [(p.kind, p.size, p.elem_size) for p in abi.params] == [("disjoint", 16, 4), ("shared", 0, 256)]
    ptx = ptx_of(lowered, codegen, arch)
    assert re.search(r"\.shared \.align 16 \.b8 \w+\[256\]", ptx), ptx
    assert re.search(r"st\.shared\.\w?32", ptx) and re.search(r"ld\.shared\.\w?32", ptx), ptx
    assert len(re.findall(r"bar\.sync|barrier\.sync", ptx)) == 2, ptx


def test_block_memories_follow_each_other(ty: LayoutMaker) -> None:
    """Each begins where the one before has ended, at a multiple of 16."""
    b = BodyBuilder("k", args=[_shared(ty, ty.u32, 16), _shared(ty, ty.u8, 3), _shared(ty, ty.u64, 2)], ret=ty.unit)
    lowered = lower_program(program(b.return_().build()), ty.layouts, HostTarget(), intrinsics=_lookup)
    assert lowered.kernels[0].static_shared == 64 + 16 + 16
    start = lowered.text.index(f'@"{ENTRY}k"')
    assert set(re.findall(r"i64 (64|80)$", lowered.text[start:], re.MULTILINE)) == {"64", "80"}


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_block_memory_sized_at_launch(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    slice_ = ty.slice(ty.u64)
    shared = _device(ty, "mirgen_device::shared::Shared", slice_, ty.ref(slice_, mut=True))
    b = BodyBuilder("k", args=[_disjoint(ty, ty.usize), shared], ret=ty.unit)
    raw = ty.ref(slice_, mut=True)
    view = b.let(raw, cast("Transmute", b.arg(1), raw))
    out_ty = ty.ref(ty.slice(ty.usize), mut=True)
    out = b.let(out_ty, cast("Transmute", b.arg(0), out_ty))
    zero = b.let(ty.usize, const(ty.usize, 0))
    b.assign(index(deref(view), zero), const(ty.u64, 7))
    b.assign(index(deref(out), zero), unary("PtrMetadata", view))
    lowered = _lower(ty, b.return_().build())
    assert lowered.kernels[0].static_shared == 0
    ptx = ptx_of(lowered, codegen, arch)
    assert re.search(r"\.extern \.shared \.align 16 \.b8 \w+\[\]", ptx), ptx
    assert "%dynamic_smem_size" in ptx and re.search(r"st\.shared\.\w?64", ptx)


# ---- atomics ---------------------------------------------------------------------------------------------------

_SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}
_PTR_OPS = {
    "xchg": "exch.b", "add": "add.u", "and": "and.b", "or": "or.b", "xor": "xor.b", "max": "max.s", "min": "min.s",
    "umax": "max.u", "umin": "min.u",
}  # fmt: skip


def _atomic_kernel(ty: LayoutMaker, elem: t.Ty, emit: Emit) -> Lowered:
    """Calls ``emit(fx, pointer, value) -> old value`` and stores what it gives."""
    elem_ref = ty.ref(elem, mut=True)

    def handler(fx: FunctionContext, call: CallSite) -> Value | None:
        pointer, value = call.args
        assert isinstance(pointer, Scalar) and isinstance(value, Scalar)
        return Scalar(emit(fx, pointer.value, value.value), call.result_layout)

    b = BodyBuilder("k", args=[elem_ref, elem, elem_ref], ret=ty.unit)
    old = b.local(elem)
    b.call(old, ty.fn_def("emit", [elem_ref, elem], elem), b.arg(0), b.arg(1))
    b.assign(deref(b.arg(2)), old).return_()
    return _lower(ty, b.build(), lookup=lambda path: handler if path == "emit" else None)


@pytest.mark.parametrize("ordering", ["relaxed", "acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("scope", list(_SCOPES))
def test_ordering_and_scope_of_read_modify_write(ty: LayoutMaker, ordering: str, scope: str, ptx_of: PtxOf) -> None:
    lowered = _atomic_kernel(
        ty, ty.u32,
        lambda fx, p, v: fx.cx.target.atomic_rmw(fx, "add", p, v, ordering=ordering, scope=scope),
    )  # fmt: skip
    for codegen, arch in PRODUCERS:
        ptx = ptx_of(lowered, codegen, arch)
        semantics = "acquire" if ordering == "seq_cst" else ordering
        assert f"atom.{semantics}.{_SCOPES[scope]}.add.u32" in ptx, ptx
        assert (f"fence.sc.{_SCOPES[scope]};" in ptx) == (ordering == "seq_cst"), ptx


@pytest.mark.parametrize("bits", [32, 64])
def test_every_operation(ty: LayoutMaker, bits: int, ptx_of: PtxOf) -> None:
    elem = ty.ints[f"u{bits}"]
    for op, name in _PTR_OPS.items():
        lowered = _atomic_kernel(
            ty, elem, lambda fx, p, v, op=op: fx.cx.target.atomic_rmw(fx, op, p, v, ordering="relaxed", scope="device")
        )
        ptx = ptx_of(lowered, "llvm", "sm_90")
        assert f"atom.relaxed.gpu.{name}{bits}" in ptx, (op, ptx)


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
@pytest.mark.parametrize("bits", [8, 16])
def test_narrow_operations_work_on_the_word_around(
    ty: LayoutMaker, bits: int, codegen: Codegen, arch: str, ptx_of: PtxOf
) -> None:
    elem = ty.ints[f"u{bits}"]
    for op in (*_PTR_OPS, "sub", "nand"):
        lowered = _atomic_kernel(
            ty, elem, lambda fx, p, v, op=op: fx.cx.target.atomic_rmw(fx, op, p, v, ordering="acq_rel", scope="system")
        )
        assert "atom.acq_rel.sys.cas.b32" in ptx_of(lowered, codegen, arch)
        # a word starts at a multiple of four, and the value lies in it by the two bits that are left
        assert re.search(r"and i64 \S+, 3$", lowered.text, re.MULTILINE), lowered.text


@pytest.mark.parametrize(("codegen", "arch"), PRODUCERS)
def test_loads_stores_and_exchanges(ty: LayoutMaker, codegen: Codegen, arch: str, ptx_of: PtxOf) -> None:
    def emit(fx: FunctionContext, p: ir.Value, v: ir.Value) -> ir.Value:
        target = fx.cx.target
        target.atomic_store(fx, p, v, ordering="release", scope="device")
        old, won = target.atomic_cas(fx, p, v, v, success="acq_rel", failure="seq_cst", scope="block")
        seen = target.atomic_load(fx, p, I64, ordering="acquire", scope="system")
        target.fence(fx, ordering="seq_cst", scope="system")
        return fx.b.add(fx.b.add(old, seen), fx.b.zext(won, I64))

    ptx = ptx_of(_atomic_kernel(ty, ty.u64, emit), codegen, arch)
    for piece in (
        "st.release.gpu.b64", "fence.sc.cta;", "atom.acquire.cta.cas.b64", "ld.acquire.sys.b64", "fence.sc.sys;",
    ):  # fmt: skip
        assert piece in ptx, ptx


def test_refused_kernels(ty: LayoutMaker) -> None:
    unknown = t.AdtTy("Unknown", ty.crate, "Unknown", (), ())
    b = BodyBuilder("k", args=[unknown], ret=ty.unit)
    b.return_()
    with pytest.raises(UnsupportedError, match="`Unknown`"):
        _lower(ty, b.build())
    r = BodyBuilder("k", args=[ty.u32], ret=ty.u32)
    r.assign(r.ret, r.arg(0)).return_()
    with pytest.raises(UnsupportedError, match="returns `u32`"):
        _lower(ty, r.build())
    bad = _device(ty, "mirgen_device::Disjoint", ty.slice(ty.u32), ty.u64)
    e = BodyBuilder("k", args=[bad], ret=ty.unit)
    e.return_()
    with pytest.raises(UnsupportedError, match="no pointer and length"):
        _lower(ty, e.build())


def test_a_kernel_named_like_a_symbol_keeps_its_name(ty: LayoutMaker) -> None:
    b = BodyBuilder("_M0_x", args=[], ret=ty.unit)
    b.return_()
    lowered = _lower(ty, b.build(), kernels=("_M0_x",))
    assert [kernel.name for kernel in lowered.kernels] == ["_M0_x"]
    assert set(lowered.symbols.values()) == {"_M0_x"} and "_M0_x" in lowered.symbols
