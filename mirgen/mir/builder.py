"""A terse way to write MIR by hand, for tests.

:class:`TypeMaker` spells types as rustc does; :class:`BodyBuilder` collects statements block by block::

    ty = TypeMaker()
    b = BodyBuilder("add", args=[ty.u32, ty.u32], ret=ty.u32)
    b.assign(b.ret, binary("Add", b.arg(0), b.arg(1)))
    b.return_()
    body = b.build()

:class:`mirgen.layout.builder.LayoutMaker` is a ``TypeMaker`` that also makes the layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from mirgen.mir import body as m
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.tyof import array_of, place_ty

_UNWIND = s.Unwind("unreachable")
_INTS = ("i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize")
_FLOATS = ("f16", "f32", "f64", "f128")
_KIND_TY = {"Fn": "i8", "FnMut": "i16", "FnOnce": "i32"}


class TypeMaker:
    """Types as rustc spells them while compiling ``crate``."""

    def __init__(self, crate: str = "t") -> None:
        self.crate = crate
        ints = {n: self._made(t.IntTy(n, crate, 64 if n.endswith("size") else int(n[1:]), n[0] == "i")) for n in _INTS}
        floats = {n: self._made(t.FloatTy(n, crate, int(n[1:]))) for n in _FLOATS}
        self.i8, self.i16, self.i32 = ints["i8"], ints["i16"], ints["i32"]
        self.i64, self.i128, self.isize = ints["i64"], ints["i128"], ints["isize"]
        self.u8, self.u16, self.u32 = ints["u8"], ints["u16"], ints["u32"]
        self.u64, self.u128, self.usize = ints["u64"], ints["u128"], ints["usize"]
        self.f16, self.f32, self.f64, self.f128 = floats["f16"], floats["f32"], floats["f64"], floats["f128"]
        self.ints: Mapping[str, t.Ty] = ints
        self.bool = self._made(t.BoolTy("bool", crate))
        self.char = self._made(t.CharTy("char", crate))
        self.str = self._made(t.StrTy("str", crate))
        self.never = self._made(t.NeverTy("!", crate))
        self.unit = self.tuple()

    def _made(self, ty: t.Ty) -> t.Ty:
        """Called with every type made; subclasses note its layout."""
        return ty

    def tuple(self, *elems: t.Ty) -> t.Ty:
        inside = ", ".join(e.text for e in elems) + ("," if len(elems) == 1 else "")
        return self._made(t.TupleTy(f"({inside})", self.crate, elems))

    def ref(self, pointee: t.Ty, *, mut: bool = False) -> t.Ty:
        text = f"&'{{erased}} {'mut ' if mut else ''}{pointee.text}"
        return self._made(t.PointerTy(text, self.crate, pointee, mut, True))

    def ptr(self, pointee: t.Ty, *, mut: bool = False) -> t.Ty:
        text = f"*{'mut' if mut else 'const'} {pointee.text}"
        return self._made(t.PointerTy(text, self.crate, pointee, mut, False))

    def array(self, elem: t.Ty, length: int) -> t.Ty:
        return self._made(array_of(elem, length))

    def slice(self, elem: t.Ty) -> t.Ty:
        return self._made(t.SliceTy(f"[{elem.text}]", self.crate, elem))

    def dyn(self, trait: str) -> t.Ty:
        return self._made(t.DynTy(f"(dyn {trait} + '{{erased}})", self.crate))

    def adt(self, path: str, *args: t.Ty) -> t.Ty:
        """A struct, enum or union of that path; with :class:`LayoutMaker` see ``struct``, ``enum`` and ``union``."""
        text = f"{path}<{', '.join(a.text for a in args)}>" if args else path
        return self._made(t.AdtTy(text, self.crate, path, args, ()))

    def fn_sig(self, inputs: Sequence[t.Ty], output: t.Ty, *, abi: str = "Rust", unsafe: bool = False) -> t.FnSig:
        return t.FnSig(tuple(inputs), output, abi, unsafe, False)

    def fn_ptr(self, inputs: Sequence[t.Ty], output: t.Ty, *, abi: str = "Rust") -> t.Ty:
        sig = self.fn_sig(inputs, output, abi=abi)
        return self._made(t.FnPtrTy(_sig_text(sig), self.crate, sig))

    def fn_def(
        self, path: str, inputs: Sequence[t.Ty], output: t.Ty, *, abi: str = "Rust", unsafe: bool = False
    ) -> t.Ty:
        sig = self.fn_sig(inputs, output, abi=abi, unsafe=unsafe)
        return self._made(t.FnDefTy(f"{_sig_text(sig)} {{{path}}}", self.crate, path, sig))

    def closure(
        self,
        path: str,
        upvars: Sequence[t.Ty],
        *,
        kind: Literal["Fn", "FnMut", "FnOnce"] = "Fn",
        inputs: Sequence[t.Ty] = (),
        output: t.Ty | None = None,
    ) -> t.Ty:
        sig = self.fn_sig([TypeMaker.tuple(self, *inputs)], output or self.unit, abi="rust-call")
        caught = ", ".join(u.text for u in upvars) + ("," if len(upvars) == 1 else "")
        text = (
            f"{{{path} closure_kind_ty={_KIND_TY[kind]} "
            f"closure_sig_as_fn_ptr_ty={_sig_text(sig)} upvar_tys=({caught})}}"
        )
        return self._made(t.ClosureTy(text, self.crate, path, kind, sig, tuple(upvars)))

    def coroutine(
        self,
        path: str,
        upvars: Sequence[t.Ty],
        *,
        resume: t.Ty | None = None,
        yields: t.Ty | None = None,
        returns: t.Ty | None = None,
        movable: bool = True,
    ) -> t.Ty:
        caught = ", ".join(u.text for u in upvars) + ("," if len(upvars) == 1 else "")
        resume, yields, returns = (ty or TypeMaker.tuple(self) for ty in (resume, yields, returns))
        text = (
            f"{{{'' if movable else 'static '}{path} upvar_tys=({caught}) resume_ty={resume.text} "
            f"yield_ty={yields.text} return_ty={returns.text}}}"
        )
        return self._made(t.CoroutineTy(text, self.crate, path, tuple(upvars), resume, yields, returns))


def _sig_text(sig: t.FnSig) -> str:
    abi = "" if sig.abi == "Rust" else f'extern "{sig.abi}" '
    output = "" if sig.output.text == "()" else f" -> {sig.output.text}"
    return f"{'unsafe ' if sig.unsafe else ''}{abi}fn({', '.join(i.text for i in sig.inputs)}){output}"


#: What a builder takes where MIR has an operand: a place is copied.
Op = p.Operand | p.Place


def op(value: Op) -> p.Operand:
    return p.Copy(value) if isinstance(value, p.Place) else value


def move(place: p.Place) -> p.Operand:
    return p.Move(place)


def const(ty: t.Ty, value: int | bool) -> p.Operand:
    """A scalar constant of an integer, float (``value`` is the bits), ``bool``, ``char`` or raw pointer type."""
    match ty:
        case t.IntTy(bits=bits) | t.FloatTy(bits=bits):
            size = bits // 8
        case t.BoolTy():
            size = 1
        case t.CharTy():
            size = 4
        case _:
            size = 8
    return p.Constant(p.ScalarConst(ty, int(value) & ((1 << 8 * size) - 1), size))


def zst(ty: t.Ty) -> p.Operand:
    """The value of a zero-sized type; a function where ``ty`` is an ``FnDefTy``."""
    return p.Constant(p.ZstConst(ty))


def pointer(ty: t.Ty, alloc: int, offset: int = 0) -> p.Operand:
    return p.Constant(p.PointerConst(ty, alloc, offset))


def slice_const(ty: t.Ty, alloc: int, meta: int) -> p.Operand:
    return p.Constant(p.SliceConst(ty, alloc, meta))


def indirect(ty: t.Ty, alloc: int, offset: int = 0) -> p.Operand:
    return p.Constant(p.IndirectConst(ty, alloc, offset))


# ---- projections


def deref(place: p.Place) -> p.Place:
    return p.Place(place.local, (*place.proj, p.Deref()))


def field(place: p.Place, index: int, ty: t.Ty) -> p.Place:
    return p.Place(place.local, (*place.proj, p.Field(index, ty)))


def downcast(place: p.Place, variant: str | None, index: int | None = None) -> p.Place:
    return p.Place(place.local, (*place.proj, p.Downcast(variant, index)))


def index(place: p.Place, by: p.Place) -> p.Place:
    assert not by.proj, "MIR indexes by a bare local"
    return p.Place(place.local, (*place.proj, p.Index(by.local)))


def constant_index(place: p.Place, offset: int, min_length: int, *, from_end: bool = False) -> p.Place:
    return p.Place(place.local, (*place.proj, p.ConstantIndex(offset, min_length, from_end)))


def subslice(place: p.Place, from_: int, to: int, *, from_end: bool = False) -> p.Place:
    return p.Place(place.local, (*place.proj, p.Subslice(from_, to, from_end)))


# ---- rvalues


def use(value: Op) -> r.Rvalue:
    return r.Use(op(value))


def binary(name: str, left: Op, right: Op) -> r.Rvalue:
    return r.BinaryOp(name, op(left), op(right))


def unary(name: Literal["Not", "Neg", "PtrMetadata"], value: Op) -> r.Rvalue:
    return r.UnaryOp(name, op(value))


def cast(kind: str, value: Op, ty: t.Ty) -> r.Rvalue:
    return r.Cast(kind, op(value), ty)


def ref(place: p.Place, *, mut: bool = False) -> r.Rvalue:
    return r.Ref("mut" if mut else "shared", place)


def raw_ptr(place: p.Place, *, mut: bool = False) -> r.Rvalue:
    return r.RawPtr(mut, place)


def discriminant(place: p.Place) -> r.Rvalue:
    return r.Discriminant(place)


def repeat(value: Op, count: int) -> r.Rvalue:
    return r.Repeat(op(value), count)


def tuple_of(*values: Op) -> r.Rvalue:
    return r.TupleAggregate(tuple(op(v) for v in values))


def array_of_values(*values: Op) -> r.Rvalue:
    return r.ArrayAggregate(tuple(op(v) for v in values))


def adt_of(path: str, *values: Op, variant: str | None = None, fields: Sequence[str] = ()) -> r.Rvalue:
    """``path`` without the variant: it is appended."""
    full = path if variant is None else f"{path}::{variant}"
    return r.AdtAggregate(full, variant, tuple(fields), tuple(op(v) for v in values))


def closure_of(location: str, *values: Op) -> r.Rvalue:
    return r.ClosureAggregate(location, tuple(op(v) for v in values), True)


def fat_ptr(ty: t.Ty, data: Op, meta: Op) -> r.Rvalue:
    return r.RawPtrAggregate(ty, op(data), op(meta))


# ---- bodies


class BodyBuilder:
    """Collects one body.  Statements go to the current block; ``block()`` makes another, ``at`` selects it."""

    def __init__(
        self,
        name: str,
        *,
        args: Iterable[t.Ty] = (),
        ret: t.Ty,
        kind: Literal["fn", "const", "static", "static_mut", "anon"] = "fn",
        file: str = "t.rs",
    ) -> None:
        self._name = name
        self._kind: Literal["fn", "const", "static", "static_mut", "anon"] = kind
        self._file = file
        arg_list = list(args)
        self._arg_count = len(arg_list)
        self._locals = [m.Local(ty, True, None, None) for ty in (ret, *arg_list)]
        self._statements: list[list[s.Statement]] = [[]]
        self._terminators: list[s.Terminator | None] = [None]
        self._scopes = [m.Scope(None, None, False, None)]
        self._at = 0
        self._line: int | None = None
        self._scope = 0

    # ---- names for things

    @property
    def ret(self) -> p.Place:
        """``_0``."""
        return p.Place(0)

    def arg(self, i: int) -> p.Place:
        """The ``i``-th argument, counted from 0."""
        assert 0 <= i < self._arg_count
        return p.Place(i + 1)

    def local(self, ty: t.Ty, name: str | None = None, *, mut: bool = True) -> p.Place:
        self._locals.append(m.Local(ty, mut, name, None))
        return p.Place(len(self._locals) - 1)

    def ty_of(self, place: p.Place) -> t.Ty:
        return place_ty(self._locals, place)

    def block(self) -> int:
        """A new block; the current one stays selected."""
        self._statements.append([])
        self._terminators.append(None)
        return len(self._statements) - 1

    def at(self, block: int) -> BodyBuilder:
        self._at = block
        return self

    def line(self, line: int | None) -> BodyBuilder:
        """The source line of what follows."""
        self._line = line
        return self

    def scope(self, *, inlined: str | None = None, call_line: int | None = None, parent: int | None = None) -> int:
        """A new scope inside ``parent`` (default: the current one); what follows is in it."""
        self._scopes.append(m.Scope(self._scope if parent is None else parent, inlined, False, self._span(call_line)))
        self._scope = len(self._scopes) - 1
        return self._scope

    def in_scope(self, scope: int) -> BodyBuilder:
        self._scope = scope
        return self

    def _span(self, line: int | None) -> s.Span | None:
        return None if line is None else s.Span(self._file, line, 5, line, 20)

    @property
    def _source(self) -> s.SourceInfo:
        return s.SourceInfo(self._span(self._line), self._scope)

    # ---- statements

    def statement(self, statement: s.Statement) -> BodyBuilder:
        assert self._terminators[self._at] is None, f"bb{self._at} is closed"
        self._statements[self._at].append(statement)
        return self

    def assign(self, place: p.Place, value: r.Rvalue | Op) -> BodyBuilder:
        rvalue = r.Use(op(value)) if isinstance(value, Op) else value
        return self.statement(s.Assign(self._source, place, rvalue))

    def let(self, ty: t.Ty, value: r.Rvalue | Op, name: str | None = None) -> p.Place:
        """A new local with its first value."""
        place = self.local(ty, name)
        self.assign(place, value)
        return place

    def set_discriminant(self, place: p.Place, variant_index: int) -> BodyBuilder:
        return self.statement(s.SetDiscriminant(self._source, place, variant_index))

    def storage_live(self, place: p.Place) -> BodyBuilder:
        return self.statement(s.Storage(self._source, True, place.local))

    def storage_dead(self, place: p.Place) -> BodyBuilder:
        return self.statement(s.Storage(self._source, False, place.local))

    def assume(self, value: Op) -> BodyBuilder:
        return self.statement(s.Assume(self._source, op(value)))

    def copy_nonoverlapping(self, dst: Op, src: Op, count: Op) -> BodyBuilder:
        return self.statement(s.CopyNonoverlapping(self._source, op(dst), op(src), op(count)))

    # ---- terminators

    def terminate(self, terminator: s.Terminator) -> BodyBuilder:
        assert self._terminators[self._at] is None, f"bb{self._at} is closed"
        self._terminators[self._at] = terminator
        return self

    def goto(self, target: int) -> BodyBuilder:
        return self.terminate(s.Goto(self._source, target))

    def switch(self, value: Op, arms: Mapping[int, int], otherwise: int) -> BodyBuilder:
        """``arms``: unsigned 128-bit pattern to block."""
        return self.terminate(s.SwitchInt(self._source, op(value), tuple(arms.items()), otherwise))

    def return_(self) -> BodyBuilder:
        return self.terminate(s.Return(self._source))

    def unreachable(self) -> BodyBuilder:
        return self.terminate(s.Unreachable(self._source))

    def call(self, destination: p.Place, func: t.Ty | Op, *args: Op, target: int | None = -1) -> BodyBuilder:
        """Calls a function item (its type) or a function pointer.

        By default a new block follows and is selected; ``None`` is a call that does not come back.
        """
        callee = zst(func) if isinstance(func, t.TyBase) else op(func)
        after = self.block() if target == -1 else target
        self.terminate(s.Call(self._source, destination, callee, tuple(op(a) for a in args), after, _UNWIND))
        return self.at(after) if target == -1 and after is not None else self

    def assert_(
        self, value: Op, message: str, *args: Op, expected: bool = True, target: int | None = None
    ) -> BodyBuilder:
        """By default a new block follows and is selected."""
        after = self.block() if target is None else target
        self.terminate(s.Assert(self._source, op(value), expected, message, tuple(op(a) for a in args), after, _UNWIND))
        return self.at(after) if target is None else self

    def drop(self, place: p.Place, target: int | None = None) -> BodyBuilder:
        after = self.block() if target is None else target
        self.terminate(s.Drop(self._source, place, after, _UNWIND))
        return self.at(after) if target is None else self

    # ---- the result

    def build(self) -> m.Body:
        """The body.  Every block must be closed."""
        blocks: list[m.Block] = []
        for i, (statements, terminator) in enumerate(zip(self._statements, self._terminators, strict=True)):
            assert terminator is not None, f"bb{i} has no terminator"
            blocks.append(m.Block(False, tuple(statements), terminator))
        return m.Body(
            crate=self._locals[0].ty.crate,
            kind=self._kind,
            header=self._name,
            instance=None,
            arg_count=self._arg_count,
            locals=tuple(self._locals),
            scopes=tuple(self._scopes),
            blocks=tuple(blocks),
            span=None,
        )


def program(
    *bodies: m.Body,
    kernels: Sequence[str] = (),
    allocs: Mapping[int, m.Alloc] | None = None,
    constants: Mapping[m.FnKey, p.Operand] | None = None,
) -> m.Program:
    """A program of hand-made bodies; ``kernels`` names those that are entry points (all, where none is named)."""
    functions = {(b.crate, b.name): b for b in bodies}
    entries: list[m.Kernel] = []
    for b in bodies:
        if kernels and b.name not in kernels:
            continue
        params = tuple(m.Param(x.name or f"a{i}", x.ty) for i, x in enumerate(b.locals[1 : b.arg_count + 1]))
        entries.append(m.Kernel(b.name, (b.crate, b.name), params, b.span))
    return m.Program(
        tuple(entries), functions, dict(allocs or {}), dict(constants or {}), "x86_64-unknown-linux-gnu", "1.96.0"
    )
