"""What must run when a value is dropped.

rustc says of each type whether dropping it may run code (``core::mem::needs_drop``), and the glue of a type that it can
name is asked for like any function.  Tuples, arrays and closures have no drop of their own: their parts' is all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mirgen.mir import ty as t

#: rustc's answer about a type; ``None`` where it was not asked.
NeedsDrop = Callable[[t.Ty], bool | None]

#: Types of the standard library that drop values of their type arguments and do nothing else, although some of them
#: implement ``Drop``.  Their arguments are often closures, about whose types no question can be put.
_BY_ARGUMENTS = frozenset({
    "option::Option", "result::Result", "ops::ControlFlow", "ops::Range", "ops::RangeFrom", "ops::RangeTo",
    "ops::RangeInclusive", "ops::Bound", "cell::Cell", "cell::UnsafeCell", "cmp::Reverse", "num::Wrapping",
    "num::Saturating", "pin::Pin", "array::IntoIter", "iter::Map", "iter::Filter", "iter::FilterMap", "iter::Zip",
    "iter::Chain", "iter::Enumerate", "iter::Rev", "iter::Skip", "iter::Take", "iter::StepBy", "iter::Cloned",
    "iter::Copied", "iter::Fuse", "iter::Inspect", "iter::SkipWhile", "iter::TakeWhile", "iter::MapWhile",
    "iter::Scan", "iter::Cycle", "iter::Once", "iter::Repeat", "iter::FromFn", "iter::Successors", "iter::Empty",
    "array::drain::Drain", "array::Guard", "ops::try_trait::Wrapped", "ops::try_trait::NeverShortCircuit",
})  # fmt: skip
#: Which type arguments such a type owns values of, where that is not all.
_OWNED = {"array::drain::Drain": slice(0, 1), "ops::try_trait::Wrapped": slice(2, 3)}


class UnknownDropError(Exception):
    """Whether values of :attr:`types` need to be dropped must be asked first."""

    def __init__(self, types: frozenset[t.Ty]) -> None:
        super().__init__(", ".join(sorted(ty.text for ty in types)))
        self.types = types


def glue_of(ty: t.Ty) -> t.FnDefTy:
    """The drop glue of ``ty``: the function that drops the value behind a pointer."""
    path = f"core::ptr::drop_in_place::<{ty.text}>"
    pointer = t.PointerTy(f"*mut {ty.text}", ty.crate, ty, True, False)
    sig = t.FnSig((pointer,), t.TupleTy("()", ty.crate, ()), "Rust", True, False)
    return t.FnDefTy(f"unsafe fn(*mut {ty.text}) {{{path}}}", ty.crate, path, sig)


def parts_of(ty: t.Ty) -> tuple[t.Ty, ...] | None:
    """The parts whose drops are all of the drop of ``ty``, in order; ``None`` where ``ty`` has glue of its own."""
    match ty:
        case t.TupleTy(elems=parts) | t.ClosureTy(upvars=parts):
            return parts
        case _:
            return None


def runs_code(ty: t.Ty, needs_drop: NeedsDrop) -> bool:
    """Whether dropping a ``ty`` does anything.

    Raises:
        UnknownDropError: rustc must be asked first.
    """
    match ty:
        case (
            t.IntTy() | t.FloatTy() | t.BoolTy() | t.CharTy() | t.StrTy() | t.NeverTy() | t.PointerTy() | t.FnDefTy()
            | t.FnPtrTy()
        ):  # fmt: skip
            return False
        case t.TupleTy(elems=parts) | t.ClosureTy(upvars=parts):
            return _any_runs(parts, needs_drop)
        case t.ArrayTy(elem=elem) | t.SliceTy(elem=elem):
            return runs_code(elem, needs_drop)
        case t.DynTy() | t.CoroutineTy():  # which type it is, its table knows; what it holds, its glue
            return True
        case _:
            pass
    if isinstance(ty, t.AdtTy):
        root, _, rest = ty.path.partition("::")
        if root in ("core", "std") and rest in _BY_ARGUMENTS:
            return _any_runs(ty.args[_OWNED.get(rest, slice(None))], needs_drop)
    answer = needs_drop(ty)
    if answer is None:
        raise UnknownDropError(frozenset({ty}))
    return answer


def _any_runs(types: Iterable[t.Ty], needs_drop: NeedsDrop) -> bool:
    unknown: set[t.Ty] = set()
    found = False
    for ty in types:
        try:
            found |= runs_code(ty, needs_drop)
        except UnknownDropError as error:
            unknown |= error.types
    if unknown and not found:
        raise UnknownDropError(frozenset(unknown))
    return found


def glued(ty: t.Ty, needs_drop: NeedsDrop) -> tuple[t.Ty, ...]:
    """The types whose glue runs when a ``ty`` is dropped.

    Raises:
        UnknownDropError: rustc must be asked first.
    """
    parts = parts_of(ty)
    if parts is None:
        return (ty,) if runs_code(ty, needs_drop) else ()
    found: list[t.Ty] = []
    unknown: set[t.Ty] = set()
    for part in parts:
        try:
            found += glued(part, needs_drop)
        except UnknownDropError as error:
            unknown |= error.types
    if unknown:
        raise UnknownDropError(frozenset(unknown))
    return tuple(found)
