"""Atomics: values on the host, ordering and scope in the PTX of every consumer."""

from __future__ import annotations

import re

import pytest

from mirgen.errors import UnsupportedError
from mirgen.mir import ty as t
from mirgen.mir.builder import BodyBuilder, deref
from mirgen.testing.consumers import device_ptx

from .conftest import Calls

WIDTHS = (8, 16, 32, 64)

#: ``core::intrinsics::AtomicOrdering`` as core declares it, not as mirgen reads it.
ORDERINGS = ("relaxed", "release", "acquire", "acq_rel", "seq_cst")


def ordering(name: str) -> str:
    """The generic argument as rustc prints it."""
    leaf = f"ValTree(Leaf(0x{ORDERINGS.index(name):016x}): isize)"
    return f"ValTree(Branch([{leaf}]): core::intrinsics::AtomicOrdering)"


def path(op: str, of: str, *orders: str, same: bool = False) -> str:
    types = f"{of}, {of}" if same else of
    return f"core::intrinsics::{op}::<{types}, {', '.join(map(ordering, orders))}>"


#: Operation, whether it names the operand's type too, signedness, what it leaves.
OPERATIONS = (
    ("atomic_xchg", False, "u"), ("atomic_xadd", True, "u"), ("atomic_xsub", True, "u"), ("atomic_and", True, "u"),
    ("atomic_nand", True, "u"), ("atomic_or", True, "u"), ("atomic_xor", True, "u"), ("atomic_max", False, "i"),
    ("atomic_min", False, "i"), ("atomic_umax", False, "u"), ("atomic_umin", False, "u"),
)  # fmt: skip


def after(op: str, old: int, value: int, bits: int) -> int:
    mask = (1 << bits) - 1

    def number(v: int) -> int:
        return v - (1 << bits) if v >> (bits - 1) else v

    return {
        "atomic_xchg": value, "atomic_xadd": old + value, "atomic_xsub": old - value, "atomic_and": old & value,
        "atomic_nand": ~(old & value), "atomic_or": old | value, "atomic_xor": old ^ value,
        "atomic_max": max(old, value, key=number), "atomic_min": min(old, value, key=number),
        "atomic_umax": max(old, value), "atomic_umin": min(old, value),
    }[op] & mask  # fmt: skip


@pytest.mark.parametrize("bits", WIDTHS)
def test_read_modify_write(call: Calls, bits: int) -> None:
    old, value = 0x96 << (bits - 8) | 3, 0x71 << (bits - 8) | 5
    for op, same, sign in OPERATIONS:
        of = call.ty.ints[f"{sign}{bits}"]
        memory = bytearray(old.to_bytes(bits // 8, "little"))
        found = call(path(op, of.text, "relaxed", same=same), [(call.ty.ptr(of, mut=True), memory), (of, value)], of)
        assert (found, int.from_bytes(memory, "little")) == (old, after(op, old, value, bits)), op


@pytest.mark.parametrize("bits", WIDTHS)
def test_load_store_and_exchange(call: Calls, bits: int) -> None:
    ty = call.ty
    of = ty.ints[f"u{bits}"]
    memory = bytearray((7).to_bytes(bits // 8, "little"))
    pointer = ty.ptr(of, mut=True)
    for order in ("relaxed", "acquire", "seq_cst"):
        assert call(path("atomic_load", of.text, order), [(ty.ptr(of), memory)], of) == 7
    for n, order in enumerate(("relaxed", "release", "seq_cst")):
        call(path("atomic_store", of.text, order), [(pointer, memory), (of, n + 40)], ty.unit)
        assert memory[0] == n + 40
    both = ty.tuple(of, ty.bool)
    for op in ("atomic_cxchg", "atomic_cxchgweak"):
        memory = bytearray((7).to_bytes(bits // 8, "little"))
        for expected, new, exchanged, left in ((8, 9, 0, 7), (7, 9, 1, 9)):
            args = [(pointer, memory), (of, expected), (of, new)]
            found = call(path(op, of.text, "acq_rel", "acquire"), args, both)
            assert (found & ((1 << bits) - 1), found >> bits & 1, memory[0]) == (7, exchanged, left)


def test_pointers(call: Calls) -> None:
    ty = call.ty
    inner = ty.ptr(ty.u8, mut=True)
    memory = bytearray((0x1234).to_bytes(8, "little"))
    args = [(ty.ptr(inner, mut=True), memory), (inner, 0x5678)]
    assert call(path("atomic_xchg", inner.text, "seq_cst"), args, inner) == 0x1234
    assert int.from_bytes(memory, "little") == 0x5678
    args = [(ty.ptr(inner, mut=True), memory), (ty.usize, 0xF0)]
    full = f"core::intrinsics::atomic_and::<*mut u8, usize, {ordering('relaxed')}>"
    assert call(full, args, inner) == 0x5678
    assert int.from_bytes(memory, "little") == 0x70
    found = call(
        path("atomic_cxchg", inner.text, "seq_cst", "relaxed"),
        [(ty.ptr(inner, mut=True), memory), (inner, 0x70), (inner, 0x99)], ty.tuple(inner, ty.bool),
    )  # fmt: skip
    assert (found & ((1 << 64) - 1), found >> 64 & 1, memory[0]) == (0x70, 1, 0x99)


def test_fences(call: Calls) -> None:
    for order in ("acquire", "release", "acq_rel", "seq_cst"):
        assert call(f"atomic_fence::<{ordering(order)}>", [], call.ty.unit) == 0
        assert call(f"atomic_singlethreadfence::<{ordering(order)}>", [], call.ty.unit) == 0


def test_what_is_too_wide_is_refused(call: Calls) -> None:
    ty = call.ty
    with pytest.raises(UnsupportedError, match="16 bytes"):
        call.host.lower(call.body(path("atomic_load", "u128", "relaxed"), [ty.ptr(ty.u128)], ty.u128))


# ---- PTX -----------------------------------------------------------------------------------------------------


def kernel(call: Calls, full: str, args: list[t.Ty], result: t.Ty) -> str:
    """Adds a kernel for :func:`device_ptx`; its name."""
    name = f"k{len(call.bodies)}"
    ty = call.ty
    b = BodyBuilder(name, args=[*args, ty.ref(result, mut=True)], ret=ty.unit)
    b.call(deref(b.arg(len(args))), ty.fn_def(full, args, result), *(b.arg(n) for n in range(len(args))))
    b.return_()
    call.bodies.append(b.build())
    return name


def entries(ptx: str) -> dict[str, str]:
    """The text of each entry."""
    found: dict[str, str] = {}
    for piece in re.split(r"\.entry\s+", ptx)[1:]:
        name = re.match(r"\w+", piece)
        assert name is not None
        found[name[0]] = piece
    return found


@pytest.mark.cuda
@pytest.mark.slow
def test_ordering_and_scope_reach_ptx(call: Calls) -> None:
    """Every ordering on every width: nothing may become weaker on the way."""
    ty = call.ty
    expected: dict[str, tuple[str, ...]] = {}
    for bits in (32, 64):
        of = ty.ints[f"u{bits}"]
        pointer = ty.ptr(of, mut=True)
        for order in ORDERINGS:
            name = kernel(call, path("atomic_xadd", of.text, order, same=True), [pointer, of], of)
            atom = {"seq_cst": "acquire"}.get(order, order)
            expected[name] = (rf"atom\.{atom}\.sys\.add\.u{bits}", *(["fence.sc.sys"] if order == "seq_cst" else []))
        for order in ("relaxed", "acquire", "seq_cst"):
            name = kernel(call, path("atomic_load", of.text, order), [ty.ptr(of)], of)
            load = "relaxed" if order == "relaxed" else "acquire"
            expected[name] = (rf"ld\.{load}\.sys\.b{bits}", *(["fence.sc.sys"] if order == "seq_cst" else []))
        for order in ("relaxed", "release", "seq_cst"):
            name = kernel(call, path("atomic_store", of.text, order), [pointer, of], ty.unit)
            store = "release" if order == "release" else "relaxed"
            expected[name] = (rf"st\.{store}\.sys\.b{bits}", *(["fence.sc.sys"] if order == "seq_cst" else []))
        name = kernel(
            call, path("atomic_cxchg", of.text, "acq_rel", "acquire"), [pointer, of, of], ty.tuple(of, ty.bool)
        )
        expected[name] = (rf"atom\.acq_rel\.sys\.cas\.b{bits}",)
    for order, fence in (("acquire", "acq_rel"), ("release", "acq_rel"), ("acq_rel", "acq_rel"), ("seq_cst", "sc")):
        name = kernel(call, f"core::intrinsics::atomic_fence::<{ordering(order)}>", [], ty.unit)
        expected[name] = (rf"fence\.{fence}\.sys",)
    text, names = call.device_text()
    for consumer, ptx in device_ptx(text, names).items():
        found = entries(ptx)
        for name, patterns in expected.items():
            for pattern in patterns:
                assert re.search(pattern, found[name]), (consumer, pattern, found[name])


@pytest.mark.cuda
@pytest.mark.slow
def test_every_operation_and_width_reaches_ptx(call: Calls) -> None:
    ty = call.ty
    for bits in WIDTHS:
        for op, same, sign in OPERATIONS:
            of = ty.ints[f"{sign}{bits}"]
            kernel(call, path(op, of.text, "acq_rel", same=same), [ty.ptr(of, mut=True), of], of)
        of = ty.ints[f"u{bits}"]
        cas = path("atomic_cxchgweak", of.text, "release", "relaxed")
        kernel(call, cas, [ty.ptr(of, mut=True), of, of], ty.tuple(of, ty.bool))
        kernel(call, path("atomic_load", of.text, "acquire"), [ty.ptr(of)], of)
        kernel(call, path("atomic_store", of.text, "release"), [ty.ptr(of, mut=True), of], ty.unit)
    text, names = call.device_text()
    for consumer, ptx in device_ptx(text, names).items():
        for name, entry in entries(ptx).items():
            assert re.search(r"(atom|ld|st)\.(acq_rel|release|acquire)\.sys", entry), (consumer, name, entry)
