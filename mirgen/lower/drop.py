"""Drop: calls the drop glue where the program has it."""

from __future__ import annotations

from mirgen.lower.context import FunctionContext
from mirgen.lower.place import lower_place, place_ty
from mirgen.mir import statement as s
from mirgen.mir.body import FnKey
from mirgen.mir.ty import (
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
