"""The type table of a document to :mod:`mirgen.mir.ty`."""

from __future__ import annotations

from collections.abc import Sequence

from mirgen.errors import InvalidInputError
from mirgen.ingest import wire
from mirgen.ingest.decode import parse_decimal
from mirgen.mir import ty as t

#: Types nested deeper than this are refused; later stages walk them recursively.
_MAX_DEPTH = 500
_BITS = {"8": 8, "16": 16, "32": 32, "64": 64, "128": 128, "size": 64}


def _function(path: str, crate: str) -> str:
    """A function's path; core prints its intrinsics like functions of its own, but their bodies mean nothing."""
    return f"core::{path}" if crate == "core" and path.startswith("intrinsics::") else path


def _refs(entry: wire.Ty) -> list[int]:
    """The table indices that an entry mentions."""
    match entry:
        case wire.TupleTy():
            return list(entry.elems)
        case wire.RefTy() | wire.PtrTy():
            return [entry.pointee]
        case wire.ArrayTy() | wire.SliceTy():
            return [entry.elem]
        case wire.AdtTy():
            return [a.ty for a in entry.args if isinstance(a, wire.TyArg)]
        case wire.FnPtrTy() | wire.FnDefTy():
            return [*entry.sig.inputs, entry.sig.output]
        case wire.CoroutineTy():
            return [*entry.upvars, entry.resume, entry.yields, entry.returns]
        case wire.ClosureTy():
            return [*entry.upvars, *((*entry.sig.inputs, entry.sig.output) if entry.sig else ())]
        case _:
            return []


def resolve_types(table: Sequence[wire.Ty], crate: str) -> tuple[t.Ty, ...]:
    """One :class:`mirgen.mir.ty.Ty` for each entry.

    Raises :class:`InvalidInputError` for an index out of range, a type that contains itself or is nested
    absurdly deep, or one text given to two kinds of type.
    """
    done: list[t.Ty | None] = [None] * len(table)
    depth = [0] * len(table)
    open_: set[int] = set()
    for root in range(len(table)):
        stack = [root]
        while stack:
            at = stack[-1]
            if done[at] is not None:
                stack.pop()
                continue
            waiting: list[int] = []
            refs = _refs(table[at])
            for ref in refs:
                if not 0 <= ref < len(table):
                    raise InvalidInputError(f"type {ref} is out of range: there are {len(table)}", f"types[{at}]")
                if done[ref] is None:
                    waiting.append(ref)
            if not waiting:
                depth[at] = 1 + max((depth[ref] for ref in refs), default=0)
                if depth[at] > _MAX_DEPTH:
                    raise InvalidInputError(f"type nested more than {_MAX_DEPTH} deep", f"types[{at}]")
                done[at] = _convert(table[at], done, crate, at)
                open_.discard(at)
                stack.pop()
            else:
                open_.add(at)
                if (cycle := next((w for w in waiting if w in open_), None)) is not None:
                    raise InvalidInputError(f"type `{table[cycle].text}` contains itself", f"types[{cycle}]")
                stack.extend(waiting)
    out = tuple(ty for ty in done if ty is not None)
    _refuse_two_of_one_text(table, out)
    return out


def _refuse_two_of_one_text(table: Sequence[wire.Ty], out: tuple[t.Ty, ...]) -> None:
    seen: dict[str, int] = {}
    for i, ty in enumerate(out):
        first = seen.setdefault(ty.text, i)
        if first != i and table[first] != table[i] and type(out[first]) is not type(ty):
            raise InvalidInputError(f"`{ty.text}` is also types[{first}], as another type", f"types[{i}]")


def _convert(entry: wire.Ty, done: Sequence[t.Ty | None], crate: str, at: int) -> t.Ty:
    def get(i: int) -> t.Ty:
        ty = done[i]
        assert ty is not None
        return ty

    def sig(s: wire.FnSig) -> t.FnSig:
        return t.FnSig(tuple(get(i) for i in s.inputs), get(s.output), s.abi, s.unsafe, s.variadic)

    text = entry.text
    match entry:
        case wire.IntTy():
            return t.IntTy(text, crate, _BITS[entry.name[1:]], entry.name[0] == "i")
        case wire.FloatTy():
            return t.FloatTy(text, crate, int(entry.name[1:]))
        case wire.SimpleTy():
            simple = {"bool": t.BoolTy, "char": t.CharTy, "str": t.StrTy, "never": t.NeverTy}
            return simple[entry.kind](text, crate)
        case wire.TupleTy():
            return t.TupleTy(text, crate, tuple(get(i) for i in entry.elems))
        case wire.RefTy() | wire.PtrTy():
            return t.PointerTy(text, crate, get(entry.pointee), entry.mutable, entry.kind == "ref")
        case wire.ArrayTy():
            length = None if entry.len is None else _length(entry.len, at)
            return t.ArrayTy(text, crate, get(entry.elem), length)
        case wire.SliceTy():
            return t.SliceTy(text, crate, get(entry.elem))
        case wire.AdtTy():
            types = tuple(get(a.ty) for a in entry.args if isinstance(a, wire.TyArg))
            consts = tuple(a.text for a in entry.args if isinstance(a, wire.ConstArg))
            return t.AdtTy(text, crate, entry.path, types, consts)
        case wire.FnPtrTy():
            return t.FnPtrTy(text, crate, sig(entry.sig))
        case wire.FnDefTy():
            return t.FnDefTy(text, crate, _function(entry.path, crate), sig(entry.sig))
        case wire.CoroutineTy():
            upvars = tuple(get(i) for i in entry.upvars)
            rest = get(entry.resume), get(entry.yields), get(entry.returns)
            return t.CoroutineTy(text, crate, entry.path, upvars, *rest)
        case wire.ClosureTy():
            closure_sig = None if entry.sig is None else sig(entry.sig)
            upvars = tuple(get(i) for i in entry.upvars)
            return t.ClosureTy(text, crate, entry.path, entry.closure_kind, closure_sig, upvars)
        case wire.OpaqueTextTy():
            return t.DynTy(text, crate) if entry.kind == "dynamic" else t.UnsupportedTy(text, crate, entry.kind)


def _length(text: str, at: int) -> int:
    value = parse_decimal(text, f"types[{at}].len")
    if not 0 <= value < 1 << 64:
        raise InvalidInputError(f"array length {value} does not fit in usize", f"types[{at}].len")
    return value
