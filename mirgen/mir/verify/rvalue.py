"""Assignments: the type on the right against the type on the left."""

from __future__ import annotations

from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import ty as t
from mirgen.mir.verify.context import Context, Fault, is_open

_ARITH = ("Add", "Sub", "Mul", "Div", "Rem")
_UNCHECKED = ("AddUnchecked", "SubUnchecked", "MulUnchecked")
_OVERFLOW = ("AddWithOverflow", "SubWithOverflow", "MulWithOverflow")
_BITS = ("BitXor", "BitAnd", "BitOr")
_SHIFTS = ("Shl", "Shr", "ShlUnchecked", "ShrUnchecked")
_COMPARE = ("Eq", "Lt", "Le", "Ne", "Ge", "Gt")

_Int = t.IntTy
_Number = (t.IntTy, t.FloatTy)
_Ordered = (t.IntTy, t.FloatTy, t.BoolTy, t.CharTy, t.PointerTy, t.FnPtrTy)
_Address = (t.PointerTy, t.FnPtrTy)


def check_assign(cx: Context, place: p.Place, rvalue: r.Rvalue) -> None:
    """Raises :class:`Fault` where ``rvalue`` cannot be assigned to ``place``."""
    dest = cx.place(place)
    match rvalue:
        case r.Use(operand):
            cx.same(dest, cx.operand(operand), "the sides are")
        case r.CopyForDeref(source):
            cx.same(dest, cx.place(source), "the sides are")
        case r.Repeat(operand, count):
            elem, length = _array(dest)
            cx.same(elem, cx.operand(operand), "the array's element and the value are")
            if count is not None and length is not None and count != length:
                raise Fault(f"{count} repetitions in an array of {length}")
        case r.Ref(borrow, of):
            _borrow(cx, dest, cx.place(of), is_ref=True, mutable=borrow == "mut")
        case r.RawPtr(mutable, of):
            _borrow(cx, dest, cx.place(of), is_ref=False, mutable=mutable)
        case r.ThreadLocalRef():
            cx.pointee(dest, "the destination")
        case r.Cast(cast, operand, ty):
            cx.same(dest, ty, "the destination and the cast are")
            check_cast(cast, cx.operand(operand), ty)
        case r.BinaryOp(op, left, right):
            cx.same(
                dest, binary_ty(cx, op, cx.operand(left), cx.operand(right), dest), "the destination and result are"
            )
        case r.UnaryOp(op, operand):
            of = cx.operand(operand)
            cx.same(dest, unary_ty(op, of), "the destination and the result are")
            if op == "PtrMetadata" and isinstance(dest, t.PointerTy) and not _is_object(of):
                raise Fault(f"metadata is no `{dest.text}`")
        case r.Discriminant(of):
            cx.place(of)
            _need(dest, _Int, "a discriminant's destination")
        case r.ArrayAggregate(operands):
            elem, length = _array(dest)
            if length is not None and length != len(operands):
                raise Fault(f"{len(operands)} values for an array of {length}")
            for o in operands:
                cx.same(elem, cx.operand(o), "the array's element and a value are")
        case r.TupleAggregate(operands):
            if not isinstance(dest, t.TupleTy):
                _refuse(dest, "a tuple")
            else:
                _each(cx, dest.elems, operands, "tuple")
        case r.AdtAggregate(_, _, fields, operands):
            if not isinstance(dest, t.AdtTy):
                _refuse(dest, "a struct, enum or union")
            if fields and len(fields) != len(operands):
                raise Fault(f"{len(fields)} field names for {len(operands)} values")
            for o in operands:
                cx.operand(o)
        case r.ClosureAggregate(_, operands, complete):
            if not isinstance(dest, t.ClosureTy | t.CoroutineTy):
                _refuse(dest, "a closure")
            elif complete:
                _each(cx, dest.upvars, operands, "closure")
        case r.RawPtrAggregate(ty, data, meta):
            cx.same(dest, ty, "the destination and the pointer are")
            cx.pointee(cx.operand(data), "the address")
            _metadata(cx.pointee(ty, "the aggregate"), cx.operand(meta))
        case r.WrapBinder(operand, ty):
            cx.operand(operand)
            cx.same(dest, ty, "the sides are")


def _is_object(ty: t.Ty | None) -> bool:
    """Whether it is a pointer to a trait object, whose metadata mirgen's own bodies take as a pointer."""
    return isinstance(ty, t.PointerTy) and isinstance(ty.pointee, t.DynTy)


def _refuse(ty: t.Ty, what: str) -> None:
    if not is_open(ty):
        raise Fault(f"{what} assigned to `{ty.text}`")


def _need(ty: t.Ty | None, kinds: type | tuple[type, ...], what: str) -> None:
    if ty is not None and not isinstance(ty, kinds) and not is_open(ty):
        raise Fault(f"{what} cannot be `{ty.text}`")


def _array(dest: t.Ty) -> tuple[t.Ty | None, int | None]:
    if isinstance(dest, t.ArrayTy):
        return dest.elem, dest.length
    _refuse(dest, "an array")
    return None, None


def _each(cx: Context, types: tuple[t.Ty, ...], operands: tuple[p.Operand, ...], what: str) -> None:
    if len(types) != len(operands):
        raise Fault(f"{len(operands)} values for a {what} of {len(types)}")
    for ty, o in zip(types, operands, strict=True):
        cx.same(ty, cx.operand(o), f"the {what}'s part and its value are")


def _borrow(cx: Context, dest: t.Ty, of: t.Ty, *, is_ref: bool, mutable: bool) -> None:
    if not isinstance(dest, t.PointerTy):
        _refuse(dest, "a borrow")
        return
    if dest.is_ref != is_ref or dest.mutable != mutable:
        raise Fault(f"the borrow does not make a `{dest.text}`")
    cx.same(dest.pointee, of, "the pointer's target and the place are")


def _metadata(pointee: t.Ty | None, meta: t.Ty | None) -> None:
    if pointee is None or meta is None or is_open(pointee) or is_open(meta):
        return
    if isinstance(pointee, t.SliceTy | t.StrTy) and meta.text != "usize":
        raise Fault(f"a slice's metadata is a usize, not `{meta.text}`")
    if isinstance(pointee, t.IntTy | t.FloatTy | t.ArrayTy | t.PointerTy) and meta.text != "()":
        raise Fault(f"a thin pointer's metadata is `()`, not `{meta.text}`")


def unary_ty(op: str, ty: t.Ty | None) -> t.Ty | None:
    """The result's type; ``None`` where it is open."""
    match op:
        case "Not":
            _need(ty, (t.IntTy, t.BoolTy), "the operand of Not")
        case "Neg":
            _need(ty, _Number, "the operand of Neg")
            if isinstance(ty, t.IntTy) and not ty.signed:
                raise Fault(f"Neg of the unsigned `{ty.text}`")
        case "PtrMetadata":
            _need(ty, t.PointerTy, "the operand of PtrMetadata")
            return None
        case _:
            raise Fault(f"unknown operator `{op}`")
    return ty


def binary_ty(cx: Context, op: str, left: t.Ty | None, right: t.Ty | None, dest: t.Ty) -> t.Ty | None:
    """The result's type; ``None`` where it is open or has been checked against ``dest`` here."""
    if op in _SHIFTS:
        _need(left, _Int, f"the left of {op}")
        _need(right, _Int, f"the right of {op}")
        return left
    if op == "Offset":
        cx.pointee(left, "the left of Offset")
        if right is not None and right.text not in ("usize", "isize") and not is_open(right):
            raise Fault(f"a pointer is moved by a usize or isize, not `{right.text}`")
        return left
    cx.same(left, right, f"the operands of {op} are")
    known = left if left is not None else right
    if op in _ARITH:
        _need(known, _Number, f"the operands of {op}")
        return known
    if op in _UNCHECKED:
        _need(known, _Int, f"the operands of {op}")
        return known
    if op in _BITS:
        _need(known, (t.IntTy, t.BoolTy), f"the operands of {op}")
        return known
    if op in _OVERFLOW:
        _need(known, _Int, f"the operands of {op}")
        if not isinstance(dest, t.TupleTy) or len(dest.elems) != 2 or not isinstance(dest.elems[1], t.BoolTy):
            raise Fault(f"{op} makes a pair with a bool, not `{dest.text}`")
        cx.same(dest.elems[0], known, f"the destination's number and the operands of {op} are")
        return None
    if op in _COMPARE:
        _need(known, _Ordered, f"the operands of {op}")
        cx.need_bool(dest, f"the result of {op}")
        return None
    if op == "Cmp":
        _need(known, (t.IntTy, t.CharTy, t.BoolTy), "the operands of Cmp")
        if not isinstance(dest, t.AdtTy) or not dest.path.endswith("cmp::Ordering"):
            raise Fault(f"Cmp makes an Ordering, not `{dest.text}`")
        return None
    raise Fault(f"unknown operator `{op}`")


#: Kind of cast: what it takes, what it makes.
_CASTS: dict[str, tuple[type | tuple[type, ...], type | tuple[type, ...]]] = {
    "IntToInt": ((t.IntTy, t.BoolTy, t.CharTy), (t.IntTy, t.CharTy)),
    "IntToFloat": (t.IntTy, t.FloatTy),
    "FloatToInt": (t.FloatTy, t.IntTy),
    "FloatToFloat": (t.FloatTy, t.FloatTy),
    "PtrToPtr": (t.PointerTy, t.PointerTy),
    "FnPtrToPtr": (t.FnPtrTy, t.PointerTy),
    "PointerExposeProvenance": (_Address, t.IntTy),
    "PointerWithExposedProvenance": (t.IntTy, t.PointerTy),
    "Transmute": (object, object),
    "Subtype": (object, object),
}
_COERCIONS: dict[str, tuple[type | tuple[type, ...], type | tuple[type, ...]]] = {
    "ReifyFnPointer": (t.FnDefTy, t.FnPtrTy),
    "UnsafeFnPointer": (t.FnPtrTy, t.FnPtrTy),
    "ClosureFnPointer": (t.ClosureTy, t.FnPtrTy),
    "NeverCalled": (t.FnDefTy, t.FnPtrTy),
    "MutToConstPointer": (t.PointerTy, t.PointerTy),
    "ArrayToPointer": (t.PointerTy, t.PointerTy),
    "Unsize": ((t.PointerTy, t.AdtTy), (t.PointerTy, t.AdtTy)),
}


def check_cast(cast: str, source: t.Ty | None, to: t.Ty) -> None:
    """Whether a cast of this kind goes from ``source`` to ``to``."""
    row = _CASTS.get(cast)
    if row is None and cast.startswith("PointerCoercion("):
        row = _COERCIONS.get(cast.removeprefix("PointerCoercion(").split(",")[0].split("(")[0].rstrip(")"))
    if row is None:
        raise Fault(f"unknown cast `{cast}`")
    _need(source, row[0], f"the operand of {cast}")
    _need(to, row[1], f"the result of {cast}")
