"""Panics: Rust's own messages with their arguments and places, and checks that no optimiser may delete."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import pytest

from mirgen.layout.builder import LayoutMaker
from mirgen.lower.program import lower_program
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import ty as t
from mirgen.mir.builder import (
    BodyBuilder,
    adt_of,
    binary,
    cast,
    const,
    deref,
    index,
    indirect,
    program,
    raw_ptr,
    ref,
    unary,
    use,
)  # fmt: skip
from mirgen.targets.nvptx import NvptxTarget
from mirgen.testing.consumers import device_ptx

from .conftest import Host, Panicked

ASSERTS = [
    (
        "index out of bounds: the length is {} but the index is {}",
        "index out of bounds: the len is {} but the index is {}",
    ),
    ("attempt to compute `{} + {}`, which would overflow", "attempt to add with overflow"),
    ("attempt to compute `{} - {}`, which would overflow", "attempt to subtract with overflow"),
    ("attempt to compute `{} * {}`, which would overflow", "attempt to multiply with overflow"),
    ("attempt to compute `{} / {}`, which would overflow", "attempt to divide with overflow"),
    (
        "attempt to compute the remainder of `{} % {}`, which would overflow",
        "attempt to calculate the remainder with overflow",
    ),
    ("attempt to negate `{}`, which would overflow", "attempt to negate with overflow"),
    ("attempt to shift left by `{}`, which would overflow", "attempt to shift left with overflow"),
    ("attempt to shift right by `{}`, which would overflow", "attempt to shift right with overflow"),
    ("attempt to divide `{}` by zero", "attempt to divide by zero"),
    (
        "attempt to calculate the remainder of `{}` with a divisor of zero",
        "attempt to calculate the remainder with a divisor of zero",
    ),
    ("null pointer dereference occurred", "null pointer dereference occurred"),
    (
        "misaligned pointer dereference: address must be a multiple of {} but is {}",
        "misaligned pointer dereference: address must be a multiple of {:#x} but is {:#x}",
    ),
    ("trying to construct an enum from an invalid value {}", "trying to construct an enum from an invalid value {:#x}"),
    ("a text of some later rustc {}", "a text of some later rustc {{}}"),
]  # fmt: skip


def panic_of(host: Host, b: BodyBuilder, args: Sequence[bytearray | int], allocs: dict[int, m.Alloc]) -> Panicked:
    outcome = host.run(b.build(), args=args, allocs=allocs)
    assert outcome is not None, "it did not panic"
    return outcome


@pytest.mark.parametrize(("printed", "message"), ASSERTS)
def test_assertions(host: Host, printed: str, message: str) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.bool, ty.usize, ty.usize], ret=ty.unit)
    b.line(41)
    b.assert_(b.arg(0), printed, *(b.arg(n + 1) for n in range(printed.count("{}"))))
    b.return_()
    assert host.run(b.build(), args=[1, 3, 9]) is None
    found = panic_of(host, b, [0, 3, 9], {})
    assert found.site.message == message
    assert found.site.span is not None
    assert found.site.span.line == 41
    shown = printed.count("{}") if "{" in message and "{{" not in message else 0
    assert found.args == ((0, 0), (3, 0), (3, 9))[shown]


def test_expected_false(host: Host) -> None:
    ty = host.ty
    b = BodyBuilder("k", args=[ty.bool], ret=ty.unit)
    printed = "attempt to compute `{} + {}`, which would overflow"
    b.assert_(b.arg(0), printed, const(ty.i8, -1), const(ty.i8, 2), expected=False)
    b.return_()
    assert host.run(b.build(), args=[0]) is None
    assert panic_of(host, b, [1], {}).site.message == "attempt to add with overflow"


def calls(
    host: Host, path: str, arguments: Sequence[tuple[t.Ty, p.Operand]], allocs: dict[int, m.Alloc] | None = None
) -> Panicked:
    """The panic of a kernel that calls ``path``."""
    ty = host.ty
    b = BodyBuilder("k", ret=ty.unit)
    b.line(5)
    item = ty.fn_def(path, [of for of, _ in arguments], ty.never)
    b.call(b.local(ty.never), item, *(operand for _, operand in arguments), target=None)
    return panic_of(host, b, [], allocs or {})


def bytes_at(data: bytes) -> m.MemoryAlloc:
    return m.MemoryAlloc(None, 1, data, (), ())


def test_functions_with_fixed_messages(host: Host) -> None:
    ty = host.ty

    def word(value: int) -> tuple[t.Ty, p.Operand]:
        return ty.usize, const(ty.usize, value)

    for path, arguments, message, shown in (
        ("core::option::unwrap_failed", [], "called `Option::unwrap()` on a `None` value", (0, 0)),
        ("std::option::unwrap_failed", [], "called `Option::unwrap()` on a `None` value", (0, 0)),
        (
            "core::panicking::panic_bounds_check", [word(9), word(3)],
            "index out of bounds: the len is {} but the index is {}", (3, 9),
        ),
        ("core::panicking::panic_const::panic_const_add_overflow", [], "attempt to add with overflow", (0, 0)),
        ("core::num::overflow_panic::shl", [], "attempt to shift left with overflow", (0, 0)),
        ("core::panicking::panic_const::panic_const_div_by_zero", [], "attempt to divide by zero", (0, 0)),
        (
            "core::slice::index::slice_end_index_len_fail", [word(7), word(4)],
            "range end index {} out of range for slice of length {}", (7, 4),
        ),
        (
            "core::slice::copy_from_slice_impl::len_mismatch_fail", [word(1), word(2)],
            "copy_from_slice: source slice length ({}) does not match destination slice length ({})", (2, 1),
        ),
        ("my::never::<{x}>", [], "`my::never::<{{x}}>` was called", (0, 0)),
    ):  # fmt: skip
        found = calls(host, path, arguments)
        assert (found.site.message, found.args) == (message, shown), path
        assert found.site.span is not None
        assert found.site.span.line == 5


def test_slice_index_fail_decides_at_run_time(host: Host) -> None:
    """``slice_index_fail(start, end, len)``."""
    ty = host.ty
    for start, end, length, message, shown in (
        (5, 9, 4, "range start index {} out of range for slice of length {}", (5, 4)),
        (1, 9, 4, "range end index {} out of range for slice of length {}", (9, 4)),
        (3, 2, 4, "slice index starts at {} but ends at {}", (3, 2)),
        (0, 4, 4, "range end index {} out of range for slice of length {}", (4, 4)),
    ):
        b = BodyBuilder("k", args=[ty.usize, ty.usize, ty.usize], ret=ty.unit)
        item = ty.fn_def("core::slice::index::slice_index_fail", [ty.usize] * 3, ty.never)
        b.call(b.local(ty.never), item, b.arg(0), b.arg(1), b.arg(2), target=None)
        found = panic_of(host, b, [start, end, length], {})
        assert (found.site.message, found.args) == (message, shown)


def test_messages_from_string_constants(host: Host) -> None:
    ty = host.ty
    text = ty.ref(ty.str)
    allocs: dict[int, m.Alloc] = {1: bytes_at("größer {0}".encode() + b"tail")}
    operand = p.Constant(p.SliceConst(text, 1, len("größer {0}".encode())))
    for path in ("core::panicking::panic", "core::option::expect_failed", "core::panicking::panic_nounwind"):
        assert calls(host, path, [(text, operand)], allocs).site.message == "größer {{0}}"


def test_a_string_that_is_no_constant(host: Host) -> None:
    ty = host.ty
    text = ty.ref(ty.str)
    b = BodyBuilder("k", args=[ty.usize], ret=ty.unit)
    data = b.let(ty.ptr(ty.u8), cast("PointerWithExposedProvenance", b.arg(0), ty.ptr(ty.u8)))
    wide = b.let(ty.ptr(ty.str), r.RawPtrAggregate(ty.ptr(ty.str), p.Copy(data), const(ty.usize, 1)))
    made = b.let(text, cast("Transmute", wide, text))
    b.call(b.local(ty.never), ty.fn_def("core::option::expect_failed", [text], ty.never), made, target=None)
    found = panic_of(host, b, [8], {})
    assert (found.site.message, found.site.args, found.args) == ("{}", ("str",), (8, 1))


# ---- format_args! --------------------------------------------------------------------------------------------


def arguments_ty(ty: LayoutMaker) -> t.Ty:
    return ty.struct("core::fmt::Arguments", [ty.ref(ty.u8), ty.ref(ty.u8)])


def test_panic_fmt_of_a_constant(host: Host) -> None:
    """``Arguments`` as rustc keeps it in memory: a plain string has ``len << 1 | 1`` beside it."""
    ty = host.ty
    arguments = arguments_ty(ty)
    words = bytes(8) + struct.pack("<Q", 5 << 1 | 1)
    allocs: dict[int, m.Alloc] = {
        1: m.MemoryAlloc(None, 8, words, (), (m.Relocation(0, 8, 2, 1),)), 2: bytes_at(b"_plain_"),
    }  # fmt: skip
    found = calls(host, "core::panicking::panic_fmt", [(arguments, indirect(arguments, 1))], allocs)
    assert found.site.message == "plain"


def test_panic_fmt_of_from_str(host: Host) -> None:
    """The statements that ``Arguments::from_str`` leaves after inlining."""
    ty = host.ty
    arguments, text = arguments_ty(ty), ty.ref(ty.str)
    b = BodyBuilder("k", ret=ty.unit)
    message = b.let(text, use(p.Constant(p.SliceConst(text, 1, 9))))
    raw = b.let(ty.ptr(ty.str), raw_ptr(deref(message)))
    thin = b.let(ty.ptr(ty.u8), cast("PtrToPtr", raw, ty.ptr(ty.u8)))
    template = b.let(ty.ref(ty.u8), cast("Transmute", thin, ty.ref(ty.u8)))
    slice_ = ty.ref(ty.slice(ty.u8))
    bytes_ = b.let(slice_, cast("Transmute", p.Constant(p.SliceConst(text, 1, 9)), slice_))
    length = b.let(ty.usize, unary("PtrMetadata", bytes_))
    shifted = b.let(ty.usize, binary("Shl", length, const(ty.i32, 1)))
    word = b.let(ty.usize, binary("BitOr", shifted, const(ty.usize, 1)))
    args = b.let(ty.ref(ty.u8), cast("Transmute", word, ty.ref(ty.u8)))
    made = b.let(arguments, adt_of("core::fmt::Arguments", template, args, fields=("template", "args")))
    b.call(b.local(ty.never), ty.fn_def("core::panicking::panic_fmt", [arguments], ty.never), made, target=None)
    assert panic_of(host, b, [], {1: bytes_at(b"mid > len")}).site.message == "mid > len"


def test_panic_fmt_with_placeholders(host: Host) -> None:
    """Pieces of text around placeholders, short and long, with options and with an index; the values are not found."""
    ty = host.ty
    arguments = arguments_ty(ty)
    long = b"x" * 200
    template = (
        b"\x06hello " + b"\xc0" + b"\x02, " + bytes([0xC0 | 1 | 2]) + b"\x20\0\0\x60" + b"\x05\0" + b"\x80"
        + struct.pack("<H", 200) + long + bytes([0xC0 | 8]) + b"\x01\0" + b"\0garbage"
    )  # fmt: skip
    b = BodyBuilder("k", args=[ty.usize], ret=ty.unit)
    pieces = b.let(ty.ref(ty.u8), cast("Transmute", p.Constant(p.PointerConst(ty.ptr(ty.u8), 1, 0)), ty.ref(ty.u8)))
    values = b.let(ty.ref(ty.u8), cast("PointerWithExposedProvenance", b.arg(0), ty.ref(ty.u8)))
    made = b.let(arguments, adt_of("core::fmt::Arguments", pieces, values))
    b.call(b.local(ty.never), ty.fn_def("core::panicking::panic_fmt", [arguments], ty.never), made, target=None)
    site = panic_of(host, b, [64], {1: bytes_at(template)}).site
    assert site.message == "hello {}, {:5}" + long.decode() + "{1}"
    assert site.args == ("?", "?")


@pytest.mark.parametrize(
    ("flags", "width", "precision", "text"),
    [
        (0x6000_0020, None, None, "{}"),
        (0x2000_0020, 7, None, "{:>7}"),
        (0x4000_002A, 7, 2, "{:*^7.2}"),
        (0x6000_0020 | 1 << 21 | 1 << 23 | 1 << 24, 9, None, "{:+#09}"),
        (0x6000_0020 | 1 << 25, None, None, "{:x}"),
        (0x0000_003C, 4, None, "{:<<4}"),
    ],
)
def test_options_of_a_placeholder(
    host: Host, flags: int, width: int | None, precision: int | None, text: str
) -> None:  # fmt: skip
    code = 0xC0 | 1 | (2 if width is not None else 0) | (4 if precision is not None else 0)
    template = bytes([code]) + struct.pack("<I", flags)
    template += b"".join(struct.pack("<H", n) for n in (width, precision) if n is not None) + b"\0"
    ty = host.ty
    arguments = arguments_ty(ty)
    b = BodyBuilder("k", args=[ty.usize], ret=ty.unit)
    pieces = b.let(ty.ref(ty.u8), cast("Transmute", p.Constant(p.PointerConst(ty.ptr(ty.u8), 1, 0)), ty.ref(ty.u8)))
    values = b.let(ty.ref(ty.u8), cast("PointerWithExposedProvenance", b.arg(0), ty.ref(ty.u8)))
    made = b.let(arguments, adt_of("core::fmt::Arguments", pieces, values))
    b.call(b.local(ty.never), ty.fn_def("core::panicking::panic_fmt", [arguments], ty.never), made, target=None)
    assert panic_of(host, b, [64], {1: bytes_at(template)}).site.message == text


def test_assert_eq(host: Host) -> None:
    """``assert_failed(kind, &left, &right, Option<Arguments>)``."""
    ty = host.ty
    kind = ty.enum("core::panicking::AssertKind", {"Eq": [], "Ne": [], "Match": []})
    option = ty.enum("core::option::Option", {"None": [], "Some": [ty.u64]})
    for discriminant, message in ((0, "assertion `left == right` failed"), (1, "assertion `left != right` failed")):
        b = BodyBuilder("k", args=[ty.i32, ty.u8], ret=ty.unit)
        refs = [b.let(ty.ref(of), ref(b.let(of, use(b.arg(n))))) for n, of in enumerate((ty.i32, ty.u8))]
        nothing = b.let(option, adt_of("core::option::Option", variant="None"))
        which = p.Constant(p.ScalarConst(kind, discriminant, 1))
        item = ty.fn_def(
            "core::panicking::assert_failed::<i32, u8>", [kind, ty.ref(ty.i32), ty.ref(ty.u8), option], ty.never
        )
        b.call(b.local(ty.never), item, which, *refs, nothing, target=None)
        found = panic_of(host, b, [-3, 200], {})
        assert found.site.message == message + "\n  left: {:?}\n right: {:?}"
        assert (found.site.args, found.args) == (("i32", "u8"), (-3, 200))


# ---- the device ----------------------------------------------------------------------------------------------


@pytest.mark.cuda
@pytest.mark.slow
def test_an_index_out_of_range_still_traps_at_o3(host: Host) -> None:
    """No consumer may conclude from ``unreachable`` that the index was in range."""
    ty = host.ty
    table = ty.array(ty.u32, 16)
    b = BodyBuilder("k", args=[ty.usize, ty.ref(table), ty.ref(ty.u32, mut=True)], ret=ty.unit)
    inside = b.let(ty.bool, binary("Lt", b.arg(0), const(ty.usize, 16)))
    b.assert_(inside, "index out of bounds: the length is {} but the index is {}", const(ty.usize, 16), b.arg(0))
    b.assign(deref(b.arg(2)), use(index(deref(b.arg(1)), b.arg(0))))
    b.return_()
    made = program(b.build(), kernels=("k",))
    text = lower_program(made, ty.layouts, NvptxTarget()).text
    for (codegen, arch), ptx in device_ptx(text, ["k"]).items():
        assert re.search(r"^\s*trap;", ptx, re.M), (codegen, arch)
        assert re.search(r"setp\.\w+\.u64\s+%p\d+, %rd\d+, 1[56];", ptx), (codegen, arch)
