"""Constants that rustc's text writes as trees of values: the strings that patterns compare with.

``match s { "ab" => .. }`` gives ``ValTree(Branch([ValTree(Leaf(0x61): u8), ValTree(Leaf(0x62): u8)]): &str)``.
"""

from __future__ import annotations

import re

from mirgen.mir import place as p
from mirgen.mir import ty as t
from mirgen.mir.body import MemoryAlloc

_LEAF = re.compile(r"ValTree\(Leaf\(0x((?:[0-9a-f]{2})+)\): [a-z0-9]+\)(?:, |$)")
_TREE = re.compile(r"ValTree\(Branch\(\[(.*)\]\): .*\)")


class Literals:
    """Makes each literal of a document once; ``allocs`` holds their contents by number."""

    def __init__(self, next_alloc: int) -> None:
        self.allocs: dict[int, MemoryAlloc] = {}
        self._next = next_alloc
        self._known: dict[tuple[str, str], p.Const] = {}

    def of(self, text: str, ty: t.Ty) -> p.Const | None:
        """The constant that ``text`` is, if it is a reference to a string or to a slice or array of scalars."""
        key = (text, ty.text)
        if key not in self._known:
            made = self._made(text, ty)
            if made is None:
                return None
            self._known[key] = made
        return self._known[key]

    def _made(self, text: str, ty: t.Ty) -> p.Const | None:
        tree = _TREE.fullmatch(text)
        size = _element_size(ty)
        if tree is None or size is None or not isinstance(ty, t.PointerTy):
            return None
        leaves = _LEAF.findall(tree[1])
        if _LEAF.sub("", tree[1]) or any(len(leaf) != 2 * size for leaf in leaves):
            return None
        if isinstance(ty.pointee, t.ArrayTy) and ty.pointee.length != len(leaves):
            return None
        number = self._next + len(self.allocs)
        data = b"".join(int(leaf, 16).to_bytes(size, "little") for leaf in leaves)
        self.allocs[number] = MemoryAlloc(None, size, data, (), ())
        if isinstance(ty.pointee, t.ArrayTy):
            return p.PointerConst(ty, number, 0)
        return p.SliceConst(ty, number, len(leaves))


def _element_size(ty: t.Ty) -> int | None:
    """The bytes of an element of what ``ty`` points at; ``None`` where that is not a row of scalars."""
    match ty:
        case t.PointerTy(is_ref=True, mutable=False, pointee=t.StrTy()):
            return 1
        case t.PointerTy(is_ref=True, mutable=False, pointee=t.SliceTy(elem=elem) | t.ArrayTy(elem=elem)):
            match elem:
                case t.IntTy(bits=bits):
                    return bits // 8
                case t.BoolTy():
                    return 1
                case t.CharTy():
                    return 4
                case _:
                    return None
        case _:
            return None
