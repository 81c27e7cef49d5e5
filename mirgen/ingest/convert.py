"""Bodies of a document to :mod:`mirgen.mir`.  Every index is checked; a fault names its place in the JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from mirgen.errors import InvalidInputError
from mirgen.ingest import wire
from mirgen.ingest.decode import parse_decimal
from mirgen.ingest.literals import Literals
from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t

#: Where an enum has a type parameter of a variant's name, rustc's path of the variant has a number.
_NUMBERED = re.compile(r"#\d+$")


def _fail(message: str) -> NoReturn:
    raise InvalidInputError(message)


def resolve_spans(spans: Sequence[wire.Span], files: Sequence[str]) -> tuple[s.Span, ...]:
    """The document's span table, file names resolved."""
    out: list[s.Span] = []
    for i, w in enumerate(spans):
        if w.file >= len(files):
            raise InvalidInputError(f"file {w.file} is out of range: there are {len(files)}", f"spans[{i}].file")
        if min(w.line, w.col, w.end_line, w.end_col) < 0:
            raise InvalidInputError("negative position", f"spans[{i}]")
        out.append(s.Span(files[w.file], w.line, w.col, w.end_line, w.end_col))
    return tuple(out)


class BodyReader:
    """Converts bodies of one document.

    ``alloc_ids`` maps the document's allocation ids to the numbering wanted.  The methods raise
    :class:`InvalidInputError`; those for whole bodies and statements put the JSON path in front.
    """

    def __init__(
        self, crate: str, types: Sequence[t.Ty], spans: Sequence[s.Span], alloc_ids: Mapping[int, int],
        next_alloc: int,
    ) -> None:  # fmt: skip
        """Literals that the text has no allocations for get some, numbered from ``next_alloc``."""
        self.crate = crate
        self._types = types
        self._spans = spans
        self._alloc_ids = alloc_ids
        self._literals = Literals(next_alloc)
        self._locals = 0
        self._blocks = 0
        self._scopes = 0
        self._sources: dict[tuple[int | None, int | None], s.SourceInfo] = {}
        self._bare: dict[int, p.Place] = {}
        self._rvalues: dict[type, Callable[[Any], r.Rvalue]] = {
            wire.Use: lambda w: r.Use(self.operand(w.operand)),
            wire.Repeat: self._repeat,
            wire.Ref: lambda w: r.Ref(w.borrow, self.place(w.place)),
            wire.RawPtr: lambda w: r.RawPtr(w.mutable, self.place(w.place)),
            wire.ThreadLocalRef: lambda w: r.ThreadLocalRef(w.path),
            wire.Cast: lambda w: r.Cast(w.cast, self.operand(w.operand), self.ty(w.ty)),
            wire.BinaryOp: lambda w: r.BinaryOp(w.op, self.operand(w.left), self.operand(w.right)),
            wire.UnaryOp: lambda w: r.UnaryOp(w.op, self.operand(w.operand)),
            wire.Discriminant: lambda w: r.Discriminant(self.place(w.place)),
            wire.CopyForDeref: lambda w: r.CopyForDeref(self.place(w.place)),
            wire.ArrayAggregate: lambda w: r.ArrayAggregate(self.operands(w.operands)),
            wire.TupleAggregate: lambda w: r.TupleAggregate(self.operands(w.operands)),
            wire.AdtAggregate: self._adt_aggregate,
            wire.ClosureAggregate: lambda w: r.ClosureAggregate(w.location, self.operands(w.operands), w.complete),
            wire.RawPtrAggregate: lambda w: r.RawPtrAggregate(
                self.ty(w.ty), self.operand(w.data), self.operand(w.meta)
            ),
            wire.WrapBinder: lambda w: r.WrapBinder(self.operand(w.operand), self.ty(w.ty)),
        }

    @property
    def literals(self) -> dict[int, m.MemoryAlloc]:
        """The allocations made so far."""
        return self._literals.allocs

    # ---- indices

    def ty(self, index: int) -> t.Ty:
        if not 0 <= index < len(self._types):
            _fail(f"type {index} is out of range: there are {len(self._types)}")
        return self._types[index]

    def span(self, index: int | None) -> s.Span | None:
        if index is None:
            return None
        if not 0 <= index < len(self._spans):
            _fail(f"span {index} is out of range: there are {len(self._spans)}")
        return self._spans[index]

    def local(self, index: int) -> int:
        if not 0 <= index < self._locals:
            _fail(f"local _{index} is out of range: there are {self._locals}")
        return index

    def block(self, index: int) -> int:
        if not 0 <= index < self._blocks:
            _fail(f"block bb{index} is out of range: there are {self._blocks}")
        return index

    def scope(self, index: int | None) -> int | None:
        if index is not None and not 0 <= index < self._scopes:
            _fail(f"scope {index} is out of range: there are {self._scopes}")
        return index

    def alloc(self, index: int) -> int:
        found = self._alloc_ids.get(index)
        if found is None:
            _fail(f"allocation alloc{index} is not in `allocs`")
        return found

    def source(self, w: wire.Sourced) -> s.SourceInfo:
        key = (w.span, w.scope)
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = s.SourceInfo(self.span(w.span), self.scope(w.scope))
        return found

    # ---- places and operands

    def place(self, w: wire.Place) -> p.Place:
        if not w.proj:
            found = self._bare.get(w.local)
            if found is None:
                found = self._bare[w.local] = p.Place(self.local(w.local))
            return found
        return p.Place(self.local(w.local), tuple([self._projection(x) for x in w.proj]))

    def _projection(self, w: wire.Projection) -> p.Projection:
        match w:
            case wire.Deref():
                return _DEREF
            case wire.FieldProj():
                if w.index < 0:
                    _fail(f"field {w.index} is negative")
                return p.Field(w.index, self.ty(w.ty))
            case wire.Downcast():
                if w.variant is None and w.index is None:
                    _fail("downcast without variant and index")
                return p.Downcast(w.variant, w.index)
            case wire.IndexProj():
                return p.Index(self.local(w.local))
            case wire.ConstantIndex():
                if min(w.offset, w.min_length) < 0:
                    _fail("constant index with a negative number")
                return p.ConstantIndex(w.offset, w.min_length, w.from_end)
            case wire.Subslice():
                if min(w.from_, w.to) < 0:
                    _fail("subslice with a negative number")
                return p.Subslice(w.from_, w.to, w.from_end)
            case wire.OpaqueCast():
                return p.OpaqueCast(w.kind, self.ty(w.ty))

    def const(self, w: wire.Const) -> p.Const:
        match w:
            case wire.ScalarConst():
                bits = int(w.bits, 16)
                if not 0 <= w.size <= 16 or bits >> (8 * w.size):
                    _fail(f"scalar {w.bits[:40]} does not fit in {w.size} bytes")
                return p.ScalarConst(self.ty(w.ty), bits, w.size)
            case wire.PointerConst():
                return p.PointerConst(self.ty(w.ty), self.alloc(w.alloc), w.offset)
            case wire.ZstConst():
                return p.ZstConst(self.ty(w.ty))
            case wire.SliceConst():
                return p.SliceConst(self.ty(w.ty), self.alloc(w.alloc), w.meta)
            case wire.IndirectConst():
                return p.IndirectConst(self.ty(w.ty), self.alloc(w.alloc), w.offset)
            case wire.UnevaluatedConst():
                return p.UnevaluatedConst(w.path, w.promoted, None if w.ty is None else self.ty(w.ty))
            case wire.TyConst():
                ty = None if w.ty is None else self.ty(w.ty)
                literal = None if ty is None else self._literals.of(w.text, ty)
                return literal or p.TyConst(w.text, ty)

    def operand(self, w: wire.Operand) -> p.Operand:
        if isinstance(w, wire.PlaceOperand):
            return p.Copy(self.place(w.place)) if w.kind == "copy" else p.Move(self.place(w.place))
        if isinstance(w, wire.ConstOperand):
            return p.Constant(self.const(w.const))
        return p.RuntimeChecks(w.check)

    def operands(self, w: Sequence[wire.Operand]) -> tuple[p.Operand, ...]:
        return tuple([self.operand(o) for o in w])

    # ---- rvalues

    def rvalue(self, w: wire.Rvalue) -> r.Rvalue:
        return self._rvalues[type(w)](w)

    def _repeat(self, w: wire.Repeat) -> r.Rvalue:
        count = None if w.count is None else parse_decimal(w.count, "repeat count")
        if count is not None and not 0 <= count < 1 << 64:
            _fail(f"repeat count {count} does not fit in usize")
        return r.Repeat(self.operand(w.operand), count)

    def _adt_aggregate(self, w: wire.AdtAggregate) -> r.Rvalue:
        if w.fields and len(w.fields) != len(w.operands):
            _fail(f"{len(w.fields)} field names for {len(w.operands)} operands")
        variant = None if w.variant is None else _NUMBERED.sub("", w.variant)
        return r.AdtAggregate(w.path, variant, w.fields, self.operands(w.operands))

    # ---- statements and terminators

    def statement(self, w: wire.Statement) -> s.Statement:
        source = self.source(w)
        match w:
            case wire.Assign():
                return s.Assign(source, self.place(w.place), self.rvalue(w.rvalue))
            case wire.Storage():
                return s.Storage(source, w.kind == "storage_live", self.local(w.local))
            case wire.SetDiscriminant():
                if w.variant_index < 0:
                    _fail(f"variant index {w.variant_index} is negative")
                return s.SetDiscriminant(source, self.place(w.place), w.variant_index)
            case wire.Assume():
                return s.Assume(source, self.operand(w.operand))
            case wire.CopyNonoverlapping():
                return s.CopyNonoverlapping(source, self.operand(w.dst), self.operand(w.src), self.operand(w.count))
            case wire.Ignored():
                return s.Ignored(source, w.text)

    def unwind(self, w: wire.Unwind) -> s.Unwind:
        if (w.action == "cleanup") != (w.block is not None):
            _fail(f"unwind `{w.action}` {'without' if w.block is None else 'with'} a block")
        return s.Unwind(w.action, None if w.block is None else self.block(w.block))

    def terminator(self, w: wire.Terminator) -> s.Terminator:
        source = self.source(w)
        match w:
            case wire.Goto():
                return s.Goto(source, self.block(w.target))
            case wire.SwitchInt():
                return self._switch(source, w)
            case wire.Simple():
                if w.kind == "return":
                    return s.Return(source)
                if w.kind == "unreachable":
                    return s.Unreachable(source)
                return s.Resume(source, w.kind)
            case wire.Call():
                return s.Call(
                    source,
                    self.place(w.destination),
                    self.operand(w.func),
                    self.operands(w.args),
                    None if w.target is None else self.block(w.target),
                    self.unwind(w.unwind),
                )
            case wire.TailCall():
                return s.TailCall(source, self.operand(w.func), self.operands(w.args))
            case wire.Drop():
                return s.Drop(source, self.place(w.place), self.block(w.target), self.unwind(w.unwind))
            case wire.Assert():
                return s.Assert(
                    source,
                    self.operand(w.operand),
                    w.expected,
                    w.message,
                    self.operands(w.args),
                    self.block(w.target),
                    self.unwind(w.unwind),
                )
            case wire.InlineAsm():
                return s.InlineAsm(source, w.text)
            case wire.UnsupportedTerminator():
                return s.UnsupportedTerminator(source, w.kind, w.text)

    def _switch(self, source: s.SourceInfo, w: wire.SwitchInt) -> s.Terminator:
        arms: list[tuple[int, int]] = []
        for arm in w.arms:
            value = parse_decimal(arm.value, "switch value")
            if not 0 <= value < 1 << 128:
                _fail(f"switch value {value} does not fit in 128 bits")
            arms.append((value, self.block(arm.target)))
        if len({value for value, _ in arms}) != len(arms):
            _fail("two switch arms of one value")
        return s.SwitchInt(source, self.operand(w.operand), tuple(arms), self.block(w.otherwise))

    # ---- bodies

    def body(self, w: wire.Body, where: str) -> m.Body:
        """``where`` is the body's own JSON path, put in front of every fault."""
        self._locals, self._blocks, self._scopes = len(w.locals), len(w.blocks), len(w.scopes)
        self._sources, self._bare = {}, {}
        path = where
        try:
            if not w.locals:
                _fail("no locals: `_0` is missing")
            if not 0 <= w.arg_count < len(w.locals):
                _fail(f"arg_count is {w.arg_count}, but there are {len(w.locals)} locals")
            if (w.kind == "promoted") != (w.promoted is not None):
                _fail(f"kind `{w.kind}` with promoted = {w.promoted}")
            span = self.span(w.span)
            locals_: list[m.Local] = []
            for i, x in enumerate(w.locals):
                path = f"{where}.locals[{i}]"
                locals_.append(m.Local(self.ty(x.ty), x.mutable, x.name, self.span(x.span)))
            scopes: list[m.Scope] = []
            for i, y in enumerate(w.scopes):
                path = f"{where}.scopes[{i}]"
                if y.parent is not None and not 0 <= y.parent < i:
                    _fail(f"parent scope {y.parent} is not one before scope {i}")
                scopes.append(m.Scope(y.parent, y.inlined, y.track_caller, self.span(y.span)))
            blocks: list[m.Block] = []
            statement, terminator = self.statement, self.terminator
            for i, b in enumerate(w.blocks):
                statements: list[s.Statement] = []
                for j, z in enumerate(b.statements):
                    path = f"{where}.blocks[{i}].statements[{j}]"
                    statements.append(statement(z))
                path = f"{where}.blocks[{i}].terminator"
                blocks.append(m.Block(b.cleanup, tuple(statements), terminator(b.terminator)))
            path = where
            if not blocks:
                _fail("no blocks")
        except InvalidInputError as e:
            raise InvalidInputError(e.message if not e.where else f"{e.where}: {e.message}", path) from None
        return m.Body(
            crate=self.crate,
            kind=w.kind,
            header=w.header,
            instance=w.instance,
            arg_count=w.arg_count,
            locals=tuple(locals_),
            scopes=tuple(scopes),
            blocks=tuple(blocks),
            span=span,
            promoted=w.promoted,
            ctfe=w.ctfe,
        )


_DEREF = p.Deref()
