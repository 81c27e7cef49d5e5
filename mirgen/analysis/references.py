"""What a body refers to: callees, constants, allocations and types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mirgen.analysis.doomed import doomed_blocks, message_functions
from mirgen.mir import place as pl
from mirgen.mir import rvalue as rv
from mirgen.mir import statement as st
from mirgen.mir import ty as tys
from mirgen.mir.body import Body
from mirgen.mir.statement import SourceInfo
from mirgen.mir.ty import Ty
from mirgen.mir.tyof import operand_ty


@dataclass(frozen=True, slots=True)
class CalleeUse:
    """A function that a body calls (``called``) or takes the address of.  ``diverges``: a call with no return.

    ``doomed``: in a block from which control can only panic.  ``unread``: an address that only a panic's message takes.
    """

    fn: tys.FnDefTy
    source: SourceInfo
    called: bool
    diverges: bool
    doomed: bool = False
    unread: bool = False


@dataclass(frozen=True, slots=True)
class References:
    """Everything outside itself that a body needs, in order of appearance.

    ``casts`` are those that may make a trait object: what is cast, to which type, and where.
    """

    callees: tuple[CalleeUse, ...]
    allocs: frozenset[int]
    unevaluated: tuple[tuple[pl.UnevaluatedConst, SourceInfo], ...]
    types: frozenset[Ty]
    drops: tuple[tuple[pl.Place, SourceInfo], ...]
    casts: tuple[tuple[pl.Operand, Ty, SourceInfo], ...] = ()


def references(body: Body) -> References:
    """Walk ``body`` once."""
    return _Walker(body).result()


def operands_of(value: rv.Rvalue) -> tuple[pl.Operand, ...]:
    """The operands of a right-hand side."""
    match value:
        case rv.Use(operand=op) | rv.Repeat(operand=op) | rv.Cast(operand=op) | rv.UnaryOp(operand=op):
            return (op,)
        case rv.WrapBinder(operand=op):
            return (op,)
        case rv.BinaryOp(left=left, right=right):
            return (left, right)
        case rv.ArrayAggregate(operands=ops) | rv.TupleAggregate(operands=ops) | rv.AdtAggregate(operands=ops):
            return ops
        case rv.ClosureAggregate(operands=ops):
            return ops
        case rv.RawPtrAggregate(data=data, meta=meta):
            return (data, meta)
        case rv.Ref() | rv.RawPtr() | rv.ThreadLocalRef() | rv.Discriminant() | rv.CopyForDeref():
            return ()


def allocations_of(constant: pl.Constant) -> frozenset[int]:
    """The allocations that a constant points at or lies in."""
    match constant.const:
        case pl.PointerConst(alloc=alloc) | pl.SliceConst(alloc=alloc) | pl.IndirectConst(alloc=alloc):
            return frozenset({alloc})
        case _:
            return frozenset()


class _Walker:
    def __init__(self, body: Body) -> None:
        self._locals = body.locals
        self.callees: list[CalleeUse] = []
        self.allocs: set[int] = set()
        self.unevaluated: list[tuple[pl.UnevaluatedConst, SourceInfo]] = []
        self.types: set[Ty] = {local.ty for local in body.locals}
        self.drops: list[tuple[pl.Place, SourceInfo]] = []
        self.casts: list[tuple[pl.Operand, Ty, SourceInfo]] = []
        doomed = doomed_blocks(body)
        self._unread = message_functions(body, _is_standard_panic)
        for i, block in enumerate(body.blocks):
            self._doomed = i in doomed
            for statement in block.statements:
                self._statement(statement)
            self._terminator(block.terminator)

    def result(self) -> References:
        return References(
            tuple(self.callees), frozenset(self.allocs), tuple(self.unevaluated), frozenset(self.types),
            tuple(self.drops), tuple(self.casts),
        )  # fmt: skip

    def _statement(self, statement: st.Statement) -> None:
        match statement:
            case st.Assign(source=source, place=place, rvalue=value):
                self._place(place)
                self._rvalue(value, source)
            case st.SetDiscriminant(place=place):
                self._place(place)
            case st.Assume(source=source, operand=operand):
                self._operand(operand, source)
            case st.CopyNonoverlapping(source=source, dst=dst, src=src, count=count):
                for operand in (dst, src, count):
                    self._operand(operand, source)
            case st.Storage() | st.Ignored():
                pass

    def _rvalue(self, value: rv.Rvalue, source: SourceInfo) -> None:
        match value:
            case rv.Cast(operand=operand, ty=ty):
                self.types.add(ty)
                if _is_reify(value):
                    self._reified(operand, source)
                elif value.cast.startswith(("PointerCoercion(Unsize", "PtrToPtr", "Transmute")):
                    self.casts.append((operand, ty, source))
            case rv.RawPtrAggregate(ty=ty) | rv.WrapBinder(ty=ty):
                self.types.add(ty)
            case rv.Ref(place=place) | rv.RawPtr(place=place) | rv.Discriminant(place=place):
                self._place(place)
            case rv.CopyForDeref(place=place):
                self._place(place)
            case _:
                pass
        for operand in operands_of(value):
            self._operand(operand, source)

    def _terminator(self, terminator: st.Terminator) -> None:
        source = terminator.source
        match terminator:
            case st.Call(destination=destination, func=func, args=args, target=target):
                self._place(destination)
                self._callee(func, source, diverges=target is None)
                for operand in args:
                    self._operand(operand, source)
                if "const_eval_select" in _callee_path(func):
                    for operand in args[1:]:
                        self._reified(operand, source)
            case st.TailCall(func=func, args=args):
                self._callee(func, source, diverges=False)
                for operand in args:
                    self._operand(operand, source)
            case st.Drop(place=place):
                self._place(place)
                self.drops.append((place, source))
            case st.SwitchInt(operand=operand):
                self._operand(operand, source)
            case st.Assert(operand=operand, args=args):
                for each in (operand, *args):
                    self._operand(each, source)
            case _:
                pass

    def _callee(self, func: pl.Operand, source: SourceInfo, *, diverges: bool) -> None:
        if isinstance(func, pl.Constant) and isinstance(func.const, pl.ZstConst):
            ty = func.const.ty
            if isinstance(ty, tys.FnDefTy):
                self.callees.append(CalleeUse(ty, source, True, diverges, self._doomed))
                self._signature(ty.sig)
                return
        self._operand(func, source)
        pointer = operand_ty(self._locals, func)
        if isinstance(pointer, tys.FnPtrTy):
            self._signature(pointer.sig)

    def _reified(self, operand: pl.Operand, source: SourceInfo) -> None:
        ty = operand_ty(self._locals, operand)
        if isinstance(ty, tys.ClosureTy) and ty.sig is not None:
            self.callees.append(CalleeUse(_called_once(ty, ty.sig), source, False, False, self._doomed))
        elif isinstance(ty, tys.FnDefTy) and isinstance(operand, pl.Constant):
            unread = self._doomed and ty.path in self._unread
            self.callees.append(CalleeUse(ty, source, False, False, self._doomed, unread))
            self._signature(ty.sig)

    def _signature(self, sig: tys.FnSig) -> None:
        self.types.update(sig.inputs)
        self.types.add(sig.output)

    def _operand(self, operand: pl.Operand, source: SourceInfo) -> None:
        match operand:
            case pl.Copy(place=place) | pl.Move(place=place):
                self._place(place)
            case pl.Constant(const=const):
                self._const(const, source)
            case pl.RuntimeChecks():
                pass

    def _const(self, const: pl.Const, source: SourceInfo) -> None:
        match const:
            case pl.UnevaluatedConst(ty=ty):
                self.unevaluated.append((const, source))
                if ty is not None:
                    self.types.add(ty)
            case pl.PointerConst(ty=ty, alloc=alloc) | pl.SliceConst(ty=ty, alloc=alloc):
                self.types.add(ty)
                self.allocs.add(alloc)
            case pl.IndirectConst(ty=ty, alloc=alloc):
                self.types.add(ty)
                self.allocs.add(alloc)
            case pl.ScalarConst(ty=ty) | pl.ZstConst(ty=ty):
                self.types.add(ty)
            case pl.TyConst(ty=ty):
                if ty is not None:
                    self.types.add(ty)

    def _place(self, place: pl.Place) -> None:
        for projection in place.proj:
            if isinstance(projection, pl.Field | pl.OpaqueCast):
                self.types.add(projection.ty)


def _called_once(closure: tys.ClosureTy, sig: tys.FnSig) -> tys.FnDefTy:
    """The function that a closure's address is of, as a call of it would name it."""
    path = f"<{closure.text} as core::ops::FnOnce<{sig.inputs[0].text}>>::call_once"
    call = tys.FnSig((closure, *sig.inputs), sig.output, "rust-call", False, False)
    return tys.FnDefTy(f"fn() {{{path}}}", closure.crate, path, call)


def _is_reify(cast: rv.Cast) -> bool:
    return cast.cast.startswith(("PointerCoercion(ReifyFnPointer", "PointerCoercion(ClosureFnPointer"))


def _is_standard_panic(call: st.Call) -> bool:
    """Whether a call is one of the standard library's and does not return."""
    path = _callee_path(call.func)
    return call.target is None and path.startswith(("core::", "std::", "alloc::"))


def _callee_path(func: pl.Operand) -> str:
    if isinstance(func, pl.Constant) and isinstance(func.const, pl.ZstConst):
        ty = func.const.ty
        if isinstance(ty, tys.FnDefTy):
            return ty.path
    return ""


def components(ty: Ty) -> Iterator[Ty]:
    """The types directly inside ``ty`` whose layouts a code generator may ask for."""
    match ty:
        case tys.TupleTy(elems=elems):
            yield from elems
        case tys.PointerTy(pointee=pointee):
            yield pointee
        case tys.ArrayTy(elem=elem) | tys.SliceTy(elem=elem):
            yield elem
        case tys.AdtTy(args=args):
            yield from args
        case tys.ClosureTy(upvars=upvars) | tys.CoroutineTy(upvars=upvars):
            yield from upvars
        case _:
            return


def closure_of_types(roots: frozenset[Ty] | set[Ty]) -> set[Ty]:
    """``roots`` and every type inside them."""
    seen: set[Ty] = set()
    stack = list(roots)
    while stack:
        ty = stack.pop()
        if ty in seen:
            continue
        seen.add(ty)
        stack.extend(components(ty))
    return seen
