"""Drop: calls the drop glue where the program has it."""

from __future__ import annotations

from mirgen.lower.context import FunctionContext
from mirgen.lower.place import lower_place, place_ty
from mirgen.mir import statement as s
from mirgen.mir.body import FnKey
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    BoolTy,
    CharTy,
    ClosureTy,
    FloatTy,
    FnDefTy,
    FnPtrTy,
    IntTy,
    NeverTy,
    PointerTy,
    SliceTy,
    StrTy,
    TupleTy,
    Ty,
)  # fmt: skip

#: How rustc's releases name the glue of ``T``.
_GLUE = ("core::ptr::drop_in_place::<{}>", "core::ptr::drop_glue::<{}>", "std::ptr::drop_in_place::<{}>")


#: Types of the standard library that never run anything when they are dropped.
_INERT = frozenset({
    "marker::PhantomData", "marker::PhantomPinned", "mem::ManuallyDrop", "mem::MaybeUninit", "ptr::NonNull",
    "slice::Iter", "slice::IterMut", "slice::Chunks", "slice::ChunksMut", "slice::ChunksExact",
    "slice::ChunksExactMut", "slice::RChunks", "slice::Windows", "str::Chars", "str::CharIndices", "str::Bytes",
    "cmp::Ordering", "num::NonZero", "sync::atomic::AtomicU32", "sync::atomic::AtomicU64", "time::Duration",
})  # fmt: skip

#: Types of the standard library that drop values of their type arguments and do nothing else.
_BY_ARGUMENTS = frozenset({
    "option::Option", "result::Result", "ops::ControlFlow", "ops::Range", "ops::RangeFrom", "ops::RangeTo",
    "ops::RangeInclusive", "ops::Bound", "cell::Cell", "cell::UnsafeCell", "cmp::Reverse", "num::Wrapping",
    "num::Saturating", "pin::Pin", "array::IntoIter", "iter::Map", "iter::Filter", "iter::FilterMap", "iter::Zip",
    "iter::Chain", "iter::Enumerate", "iter::Rev", "iter::Skip", "iter::Take", "iter::StepBy", "iter::Cloned",
    "iter::Copied", "iter::Fuse", "iter::Inspect", "iter::SkipWhile", "iter::TakeWhile", "iter::MapWhile",
    "iter::Scan", "iter::Cycle", "iter::Once", "iter::Repeat", "iter::FromFn", "iter::Successors", "iter::Empty",
    "array::drain::Drain", "array::Guard", "ops::try_trait::Wrapped", "ops::try_trait::NeverShortCircuit",
})  # fmt: skip


def glue_key(fx: FunctionContext, ty: Ty) -> FnKey | None:
    """The key of the drop glue of ``ty``, where the program has it."""
    for pattern in _GLUE:
        key = (ty.crate, pattern.format(ty.text))
        if key in fx.cx.program.functions:
            return key
    return None


def needs_no_drop(ty: Ty) -> bool:
    """Whether dropping ``ty`` certainly does nothing."""
    match ty:
        case (
            IntTy() | FloatTy() | BoolTy() | CharTy() | StrTy() | NeverTy() | PointerTy() | FnDefTy() | FnPtrTy()
        ):  # fmt: skip
            return True
        case TupleTy(elems=parts) | ClosureTy(upvars=parts):
            return all(needs_no_drop(part) for part in parts)
        case ArrayTy(elem=elem) | SliceTy(elem=elem):
            return needs_no_drop(elem)
        case AdtTy(path=path, args=args):
            root, _, rest = path.partition("::")
            if root not in ("core", "std"):
                return False
            return rest in _INERT or (rest in _BY_ARGUMENTS and all(needs_no_drop(arg) for arg in args))
        case _:
            return False


def lower_drop(fx: FunctionContext, drop: s.Drop) -> None:
    """Emits the glue's call and the branch to the target."""
    ty = place_ty(fx, drop.place)
    if not needs_no_drop(ty):
        key = glue_key(fx, ty)
        function = None if key is None else fx.cx.functions.get(key)
        if function is None:
            raise fx.unsupported(
                "MG0350", f"dropping a `{ty.text}` runs code that is not in rustc's text",
                helps=("use a type without `Drop`, or `core::mem::ManuallyDrop`",),
            )  # fmt: skip
        at = lower_place(fx, drop.place)
        args = [fx.ctx] if fx.ctx is not None else []
        args.append(at.ptr)
        if at.meta is not None:
            args.append(at.meta)
        fx.b.call(function, args)
    fx.b.branch(fx.block(drop.target))
