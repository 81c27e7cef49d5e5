"""Promoted constants, whose bodies are in rustc's text but whose values are not.

rustc promotes ``&[1, 2, 3]`` to a constant of its own; nothing can name it, so rustc cannot be asked for its value.
Its body is mostly literal data: aggregates of constants and references to them.  That is laid out here with rustc's
layouts, operators on numbers are applied, and checks that hold are passed.  What a call with literal arguments gives
(``0..=9`` is one) can be asked for like a constant; a body that computes anything else is left to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeGuard

from mirgen.analysis import arithmetic
from mirgen.analysis.objects import unsized
from mirgen.layout.data import (
    FieldsArbitrary,
    FieldsArray,
    FieldsUnion,
    Layout,
    LayoutTable,
    VariantsMultiple,
    VariantsSingle,
)  # fmt: skip
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir.body import Alloc, Block, Body, FnAlloc, Local, MemoryAlloc, Relocation, Scope
from mirgen.mir.ty import (
    AdtTy,
    ArrayTy,
    BoolTy,
    CharTy,
    ClosureTy,
    DynTy,
    FloatTy,
    FnDefTy,
    IntTy,
    PointerTy,
    SliceTy,
    TupleTy,
    Ty,
)  # fmt: skip
from mirgen.mir.tyof import operand_ty

_POINTER = 8
_OF_NUMBERS = frozenset({"IntToInt", "IntToFloat", "FloatToInt", "FloatToFloat"})
_SAME_BYTES = ("PtrToPtr", "Transmute", "Subtype", "PointerCoercion(MutToConstPointer")


class NotLiteralError(Exception):
    """The body is more than literal data; the text says what was met."""


@dataclass(slots=True)
class _Memory:
    """Bytes with holes and pointers; ``relocations`` maps a position to (allocation, offset)."""

    data: bytearray
    known: bytearray
    relocations: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    @staticmethod
    def of(size: int) -> _Memory:
        return _Memory(bytearray(size), bytearray(size))

    @staticmethod
    def number(value: int, size: int) -> _Memory:
        return _Memory(bytearray(value.to_bytes(size, "little")), bytearray(b"\1" * size))

    @staticmethod
    def pointer(alloc: int, offset: int, meta: int | None = None) -> _Memory:
        size = _POINTER if meta is None else 2 * _POINTER
        data = bytearray(_POINTER) + (b"" if meta is None else meta.to_bytes(_POINTER, "little"))
        return _Memory(bytearray(data), bytearray(b"\1" * size), {0: (alloc, offset)})

    def write(self, at: int, value: _Memory) -> None:
        end = at + len(value.data)
        if end > len(self.data):
            raise NotLiteralError(f"{len(value.data)} bytes at {at} of {len(self.data)}")
        self.data[at:end] = value.data
        self.known[at:end] = value.known
        self.relocations = {k: v for k, v in self.relocations.items() if not at - _POINTER < k < end}
        self.relocations |= {at + k: v for k, v in value.relocations.items()}

    def read(self, at: int, size: int) -> _Memory:
        inside = {k - at: v for k, v in self.relocations.items() if at <= k and k + _POINTER <= at + size}
        return _Memory(self.data[at : at + size], self.known[at : at + size], inside)

    def allocation(self, align: int) -> MemoryAlloc:
        holes: list[tuple[int, int]] = []
        for i, known in enumerate(self.known):
            if known:
                continue
            if holes and sum(holes[-1]) == i:
                holes[-1] = (holes[-1][0], holes[-1][1] + 1)
            else:
                holes.append((i, 1))
        pointers = (Relocation(at, _POINTER, *target) for at, target in sorted(self.relocations.items()))
        return MemoryAlloc(None, align, bytes(self.data), tuple(holes), tuple(pointers))


@dataclass(frozen=True, slots=True)
class LiteralCall:
    """A call whose arguments are all plain numbers or constants with names: what it returns is a constant."""

    fn: FnDefTy
    args: tuple[p.ScalarConst | p.UnevaluatedConst, ...]

    @property
    def const(self) -> p.UnevaluatedConst:
        """The constant that stands for the call's value; no other has such a path."""
        return p.UnevaluatedConst(f"{self.fn.path}({', '.join(map(_argument, self.args))})", None, None)


def literal_call(terminator: s.Terminator) -> LiteralCall | None:
    """The call that ``terminator`` is, if its arguments are literal."""
    match terminator:
        case s.Call(func=p.Constant(p.ZstConst(FnDefTy() as fn)), args=operands, target=int()):
            constants = [op.const for op in operands if isinstance(op, p.Constant)]
            args = [c for c in constants if isinstance(c, p.ScalarConst) or _has_name(c)]
            return LiteralCall(fn, tuple(args)) if len(args) == len(operands) else None
        case _:
            return None


def _argument(const: p.ScalarConst | p.UnevaluatedConst) -> str:
    if isinstance(const, p.UnevaluatedConst):
        return const.full_path
    return f"0x{const.bits:0{2 * const.size}x}: {const.ty.text}"


def _has_name(const: p.Const) -> TypeGuard[p.UnevaluatedConst]:
    return isinstance(const, p.UnevaluatedConst) and const.promoted is None


def literal_calls(body: Body) -> list[tuple[LiteralCall, s.SourceInfo]]:
    """The literal calls of a constant's body."""
    found = ((literal_call(block.terminator), block.terminator.source) for block in body.blocks)
    return [(call, source) for call, source in found if call is not None]


def uninit_body(ty: AdtTy) -> Body:
    """``MaybeUninit::uninit()`` of type ``ty``, a ``MaybeUninit``, as the body of a constant."""
    nowhere = s.SourceInfo(None, None)
    unit = p.Constant(p.ZstConst(TupleTy("()", ty.crate, ())))
    value = r.AdtAggregate(ty.path, None, ("uninit",), (unit,))
    block = Block(False, (s.Assign(nowhere, p.Place(0), value),), s.Return(nowhere))
    scope = Scope(None, None, False, None)
    return Body(ty.crate, "const", ty.text, None, 0, (Local(ty, True, None, None),), (scope,), (block,), None)


def looks_literal(body: Body) -> bool:
    """Whether :func:`fold_body` may succeed: ``body`` has no branches but checks, and literal calls only."""
    plain = s.Goto | s.Return | s.Assert
    return all(
        block.cleanup or isinstance(block.terminator, plain) or literal_call(block.terminator) is not None
        for block in body.blocks
    )


def fold_body(
    body: Body,
    layouts: LayoutTable,
    allocs: dict[int, Alloc],
    new_alloc: Callable[[], int],
    constant: Callable[[p.UnevaluatedConst], p.Constant | None],
    tables: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> p.Constant:
    """The value of ``body``; allocations that it makes are added to ``allocs``.  ``tables`` are those of trait objects.

    Raises:
        NotLiteralError: the body is not literal data only, or a layout or constant in it is not known.
    """
    try:
        return _Folder(body, layouts, allocs, new_alloc, constant, tables).fold()
    except arithmetic.UndefinedError as error:
        raise NotLiteralError(str(error)) from error


class _Folder:
    def __init__(
        self, body: Body, layouts: LayoutTable, allocs: dict[int, Alloc], new_alloc: Callable[[], int],
        constant: Callable[[p.UnevaluatedConst], p.Constant | None], tables: Mapping[tuple[str, str], int],
    ) -> None:  # fmt: skip
        self._tables = tables
        self._body = body
        self._layouts = layouts
        self._allocs = allocs
        self._new_alloc = new_alloc
        self._constant = constant
        self._locals: dict[int, _Memory] = {}
        #: Allocations of locals that were borrowed: they are written no more.
        self._borrowed: dict[int, int] = {}

    def fold(self) -> p.Constant:
        at, seen = 0, set[int]()
        while at not in seen:
            seen.add(at)
            block = self._body.blocks[at]
            for statement in block.statements:
                self._statement(statement)
            match block.terminator:
                case s.Goto(target=target):
                    at = target
                case s.Assert(operand=operand, expected=expected, target=target):
                    if self._truth(operand) != expected:
                        raise NotLiteralError("a check that fails")
                    at = target
                case s.Return():
                    return self._result()
                case s.Call(destination=destination, target=int(target)) as call if found := literal_call(call):
                    self._write(destination, lambda _, const=found.const: self._const(const))
                    at = target
                case terminator:
                    raise NotLiteralError(type(terminator).__name__)
        raise NotLiteralError("a loop")

    def _result(self) -> p.Constant:
        ty = self._body.locals[0].ty
        value = self._locals.get(0)
        if value is None:
            raise NotLiteralError("no value")
        for local, alloc in self._borrowed.items():
            self._allocs[alloc] = self._locals[local].allocation(self._layout(self._body.locals[local].ty).align)
        target = value.relocations.get(0)
        if isinstance(ty, PointerTy) and target is not None:
            if len(value.data) == _POINTER:
                return p.Constant(p.PointerConst(ty, *target))
            if isinstance(ty.pointee, SliceTy) and target[1] == 0:
                return p.Constant(p.SliceConst(ty, target[0], int.from_bytes(value.data[_POINTER:], "little")))
        alloc = self._new_alloc()
        self._allocs[alloc] = value.allocation(self._layout(ty).align)
        return p.Constant(p.IndirectConst(ty, alloc, 0))

    def _layout(self, ty: Ty) -> Layout:
        found = self._layouts.get(ty.key)
        if found is None:
            raise NotLiteralError(f"the layout of `{ty.text}` is not known")
        return found

    def _statement(self, statement: s.Statement) -> None:
        match statement:
            case s.Assign(place=place, rvalue=value):
                self._write(place, lambda ty: self._rvalue(value, ty))
            case s.Storage() | s.Ignored():
                pass
            case _:
                raise NotLiteralError(type(statement).__name__)

    def _write(self, place: p.Place, value: Callable[[Ty], _Memory]) -> None:
        """Writes ``value``, which is told the place's type."""
        ty, at = self._locate(place)
        if place.local in self._borrowed:
            raise NotLiteralError("a borrowed local is written")
        whole = self._body.locals[place.local].ty
        memory = self._locals.setdefault(place.local, _Memory.of(self._layout(whole).size))
        memory.write(at, value(ty))

    def _locate(self, place: p.Place) -> tuple[Ty, int]:
        """Type and byte offset of a place inside its local."""
        ty, at = self._body.locals[place.local].ty, 0
        for projection in place.proj:
            if not isinstance(projection, p.Field):
                raise NotLiteralError(type(projection).__name__)
            at += _field_offset(self._layout(ty), projection.index)
            ty = projection.ty
        return ty, at

    def _rvalue(self, value: r.Rvalue, ty: Ty) -> _Memory:
        match value:
            case r.Use(operand=operand):
                return self._operand(operand)
            case r.Ref(place=place) | r.RawPtr(place=place):
                return self._address(place)
            case r.ArrayAggregate(operands=operands) | r.TupleAggregate(operands=operands):
                layout = self._layout(ty)
                return self._aggregate(layout, layout, operands)
            case r.ClosureAggregate(operands=operands, complete=True) if isinstance(ty, ClosureTy):
                layout = self._layout(ty)
                return self._aggregate(layout, layout, operands)
            case r.AdtAggregate(variant=variant, operands=operands):
                return self._adt(self._layout(ty), variant, operands)
            case r.Repeat(operand=operand, count=count):
                return self._repeat(self._operand(operand), count, self._layout(ty))
            case r.Cast(cast=cast, operand=operand):
                return self._cast(cast, operand, ty)
            case r.UnaryOp(op=op, operand=operand):
                return self._unary(op, operand, ty)
            case r.BinaryOp(op=op, left=left, right=right):
                return self._binary(op, left, right, ty)
            case r.Discriminant(place=place):
                return self._discriminant(place, ty)
            case _:
                raise NotLiteralError(type(value).__name__)

    def _unary(self, op: str, operand: p.Operand, ty: Ty) -> _Memory:
        return _Memory.number(arithmetic.unary(op, *self._number(operand)), self._layout(ty).size)

    def _binary(self, op: str, left: p.Operand, right: p.Operand, ty: Ty) -> _Memory:
        """An operator's result; of one that says whether it overflowed, both."""
        (a, own), (b, other) = self._number(left), self._number(right)
        bits, overflows = arithmetic.binary(op, a, b, own, other)
        layout = self._layout(ty)
        if not op.endswith("WithOverflow"):
            return _Memory.number(bits, layout.size)
        memory = _Memory.of(layout.size)
        memory.write(_field_offset(layout, 0), _Memory.number(bits, self._layout(own).size))
        memory.write(_field_offset(layout, 1), _Memory.number(int(overflows), 1))
        return memory

    def _discriminant(self, place: p.Place, ty: Ty) -> _Memory:
        of, at = self._locate(place)
        layout, size = self._layout(of), self._layout(ty).size
        match layout.variants:
            case VariantsSingle(index) if layout.names is not None and index < len(layout.names):
                return _Memory.number(layout.names[index].discriminant % (1 << 8 * size), size)
            case VariantsMultiple(tag, offset, None) if layout.names is not None:
                stored = self._copied(place.local, at + offset, tag.size)
                found = (n for n in layout.names if n.discriminant % (1 << 8 * tag.size) == _known(stored))
                name = next(found, None)
                if name is None:
                    raise NotLiteralError("a tag of no variant")
                return _Memory.number(name.discriminant % (1 << 8 * size), size)
            case _:
                raise NotLiteralError(f"the discriminant of `{of.text}`")

    def _truth(self, operand: p.Operand) -> bool:
        bits, ty = self._number(operand)
        if not isinstance(ty, BoolTy):
            raise NotLiteralError("a check of no `bool`")
        return bits == 1

    def _number(self, operand: p.Operand) -> tuple[int, arithmetic.Number]:
        """A number's bits, and its type."""
        ty, value = self._type_of(operand), self._operand(operand)
        if not arithmetic.is_number(ty):
            raise NotLiteralError("an operand that is no number")
        return _known(value), ty

    def _address(self, place: p.Place) -> _Memory:
        if place.proj and isinstance(place.proj[-1], p.Deref):
            return self._operand(p.Copy(p.Place(place.local, place.proj[:-1])))
        if place.local not in self._locals:
            raise NotLiteralError("a borrow of nothing")
        _, at = self._locate(place)
        if place.local not in self._borrowed:
            self._borrowed[place.local] = self._new_alloc()
        return _Memory.pointer(self._borrowed[place.local], at)

    def _aggregate(self, layout: Layout, fields: Layout, operands: Sequence[p.Operand]) -> _Memory:
        memory = _Memory.of(layout.size)
        for i, operand in enumerate(operands):
            value = self._operand(operand)
            if value.data:
                memory.write(_field_offset(fields, i), value)
        return memory

    def _adt(self, layout: Layout, variant: str | None, operands: Sequence[p.Operand]) -> _Memory:
        if layout.names is None:
            if isinstance(layout.variants, VariantsMultiple):
                raise NotLiteralError("an enum without names")
            return self._aggregate(layout, layout, operands)
        index = next((i for i, name in enumerate(layout.names) if name.name == variant), None)
        if index is None:
            raise NotLiteralError(f"the variant {variant}")
        if not isinstance(layout.variants, VariantsMultiple):
            return self._aggregate(layout, layout, operands)
        memory = self._aggregate(layout, layout.variants.variants[index], operands)
        tag, niche = layout.variants.tag, layout.variants.niche
        if niche is None:
            bits = layout.names[index].discriminant
        elif index == niche.untagged_variant:
            return memory
        else:
            bits = niche.niche_start + index - niche.niche_first
        memory.write(layout.variants.tag_offset, _Memory.number(bits % (1 << 8 * tag.size), tag.size))
        return memory

    @staticmethod
    def _repeat(value: _Memory, count: int | None, layout: Layout) -> _Memory:
        if count is None or len(value.data) * count != layout.size:
            raise NotLiteralError("an array of unknown length")
        if not value.data:  # there may be more of them than Python counts
            return value
        memory = _Memory(value.data * count, value.known * count)
        for i in range(count if value.relocations else 0):
            memory.relocations |= {i * len(value.data) + at: target for at, target in value.relocations.items()}
        return memory

    def _cast(self, cast: str, operand: p.Operand, ty: Ty) -> _Memory:
        function = operand.const.ty if isinstance(operand, p.Constant) else None
        if isinstance(function, FnDefTy) and cast.startswith("PointerCoercion(ReifyFnPointer"):
            alloc = self._new_alloc()
            self._allocs[alloc] = FnAlloc(function.path)
            return _Memory.pointer(alloc, 0)
        if isinstance(ty, IntTy | CharTy | FloatTy) and cast in _OF_NUMBERS:
            return _Memory.number(arithmetic.cast(cast, *self._number(operand), ty), self._layout(ty).size)
        value = self._operand(operand)
        if cast.startswith("PointerCoercion(Unsize"):
            meta = self._metadata(operand, ty)
            if meta is not None:
                wide = _Memory.of(2 * _POINTER)
                wide.write(0, value)
                wide.write(_POINTER, meta)
                return wide
        elif cast.startswith(_SAME_BYTES) and len(value.data) == self._layout(ty).size:
            return value
        raise NotLiteralError(f"the cast {cast} to `{ty.text}`")

    def _metadata(self, operand: p.Operand, ty: Ty) -> _Memory | None:
        """What unsizing a pointer adds to it; ``None`` where that is not known."""
        from_ = self._type_of(operand)
        change = unsized(from_, ty) if isinstance(ty, PointerTy) and from_ is not None else None
        match change:
            case ArrayTy(length=int(length)), SliceTy():
                return _Memory.number(length, _POINTER)
            case inner, DynTy() if not isinstance(inner, DynTy) and inner.key in self._tables:
                return _Memory.pointer(self._tables[inner.key], 0)
            case _:
                return None

    def _type_of(self, operand: p.Operand) -> Ty | None:
        ty = operand_ty(self._body.locals, operand)
        if ty is None and isinstance(operand, p.Constant) and isinstance(operand.const, p.UnevaluatedConst):
            found = self._constant(operand.const)
            return None if found is None else found.const.ty
        return ty

    def _operand(self, operand: p.Operand) -> _Memory:
        match operand:
            case p.Copy(place=place) | p.Move(place=place):
                ty, at = self._locate(place)
                size = self._layout(ty).size
                if size == 0:
                    return _Memory.of(0)
                return self._copied(place.local, at, size)
            case p.Constant(const=const):
                return self._const(const)
            case _:
                raise NotLiteralError(type(operand).__name__)

    def _copied(self, local: int, at: int, size: int) -> _Memory:
        if local not in self._locals:
            raise NotLiteralError("a local that nothing was written to")
        return self._locals[local].read(at, size)

    def _const(self, const: p.Const) -> _Memory:
        match const:
            case p.ScalarConst(bits=bits, size=size):
                return _Memory.number(bits, size)
            case p.ZstConst():
                return _Memory.of(0)
            case p.PointerConst(alloc=alloc, offset=offset):
                return _Memory.pointer(alloc, offset)
            case p.SliceConst(alloc=alloc, meta=meta):
                return _Memory.pointer(alloc, 0, meta)
            case p.IndirectConst(ty=ty, alloc=alloc, offset=offset):
                return self._stored(alloc, offset, self._layout(ty).size)
            case p.UnevaluatedConst():
                found = self._constant(const)
                if found is None:
                    raise NotLiteralError(f"the constant {const.path}")
                return self._const(found.const)
            case p.TyConst(text=text):
                raise NotLiteralError(f"the constant {text}")

    def _stored(self, alloc: int, offset: int, size: int) -> _Memory:
        memory = self._allocs.get(alloc)
        if not isinstance(memory, MemoryAlloc) or any(pointer.size != _POINTER for pointer in memory.relocations):
            raise NotLiteralError(f"the allocation {alloc}")
        known = bytearray(b"\1" * len(memory.data))
        for at, length in memory.uninit:
            known[at : at + length] = bytes(length)
        pointers = {pointer.at: (pointer.alloc, pointer.offset) for pointer in memory.relocations}
        return _Memory(bytearray(memory.data), known, pointers).read(offset, size)


def _known(value: _Memory) -> int:
    if value.relocations or not all(value.known):
        raise NotLiteralError("an operand that is no number")
    return int.from_bytes(value.data, "little")


def _field_offset(layout: Layout, index: int) -> int:
    match layout.fields:
        case FieldsArbitrary(offsets=offsets) if index < len(offsets):
            return offsets[index]
        case FieldsArray(stride=stride, count=count) if index < count:
            return index * stride
        case FieldsUnion():
            return 0
        case _:
            raise NotLiteralError(f"field {index} of {layout.fields}")
