"""Constants that rustc writes as trees of values."""

from __future__ import annotations

import pytest

from mirgen.ingest.literals import Literals
from mirgen.mir import ty as t
from mirgen.mir.builder import TypeMaker
from mirgen.mir.place import Const, PointerConst, SliceConst

TY = TypeMaker("k")


def tree(*leaves: str, of: str = "u8", ty: str = "&'{erased} str") -> str:
    return f"ValTree(Branch([{', '.join(f'ValTree(Leaf(0x{leaf}): {of})' for leaf in leaves)}]): {ty})"


def made(text: str, ty: t.Ty) -> tuple[Const | None, bytes | None]:
    literals = Literals(7)
    const = literals.of(text, ty)
    memory = literals.allocs.get(7)
    assert (const is None) is (memory is None)
    return const, None if memory is None else memory.data


def test_strings() -> None:
    ty = TY.ref(TY.str)
    assert made(tree("67", "72", "c3", "bc", "6e"), ty) == (SliceConst(ty, 7, 5), "grün".encode())
    assert made(tree(), ty) == (SliceConst(ty, 7, 0), b"")


def test_rows_of_scalars() -> None:
    slice_, array = TY.ref(TY.slice(TY.u16)), TY.ref(TY.array(TY.u16, 2))
    assert made(tree("0102", "fffe", of="u16", ty="&[u16]"), slice_) == (SliceConst(slice_, 7, 2), b"\2\1\xfe\xff")
    assert made(tree("0102", "fffe", of="u16", ty="&[u16; 2]"), array) == (PointerConst(array, 7, 0), b"\2\1\xfe\xff")


def test_each_literal_is_made_once() -> None:
    literals = Literals(0)
    ty = TY.ref(TY.str)
    first, other, again = (literals.of(tree(leaf), ty) for leaf in ("61", "62", "61"))
    assert first is again and first != other
    assert [memory.data for memory in literals.allocs.values()] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("text", "ty"),
    [
        ("ValTree(Leaf(0x61): u8)", TY.u8),
        (tree("61"), TY.str),
        (tree("61"), TY.ref(TY.u8)),
        (tree("61"), TY.ref(TY.str, mut=True)),
        (tree("0061", of="u16"), TY.ref(TY.str)),  # another size
        (tree("61", ty="&[u8; 2]"), TY.ref(TY.array(TY.u8, 2))),  # another length
        (tree("61").replace("Leaf(0x61)", "Leaf(..)"), TY.ref(TY.str)),
        (tree("61", "62").replace(", ", "; "), TY.ref(TY.str)),
        (f"ValTree(Branch([{tree('61')}]): &[&str])", TY.ref(TY.slice(TY.ref(TY.str)))),
        ("N/#0", TY.ref(TY.str)),
    ],
)
def test_anything_else_is_not_understood(text: str, ty: t.Ty) -> None:
    assert made(text, ty) == (None, None)
