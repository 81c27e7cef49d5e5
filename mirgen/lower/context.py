"""Module context ``cx`` and function context ``fx``: what every lowering function is handed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from mirgen.diagnostics.origin import user_location
from mirgen.errors import Diagnostic, InternalError, Location, UnsupportedError
from mirgen.layout.data import Layout, LayoutTable
from mirgen.lower import types
from mirgen.lower.builtin import builtin_layout
from mirgen.lower.callsite import Lookup
from mirgen.lower.value import Pair, Scalar
from mirgen.mir.body import Body, FnKey, Program
from mirgen.mir.format import format_statement, format_terminator
from mirgen.mir.names import readable
from mirgen.mir.origin import inline_notes
from mirgen.mir.rvalue import Rvalue
from mirgen.mir.statement import SourceInfo, Span, Statement, Terminator
from mirgen.mir.ty import Ty
from mirgen.targets.base import Target


@dataclass(frozen=True, slots=True)
class PanicSite:
    """One place that can panic; ``index`` is its number in ``Lowered.panics`` and at run time.

    ``message`` is a Rust format string over values of the kinds ``args`` (:mod:`mirgen.lower.shown`); where the first
    is ``@``, that value is no part of the message but the place, which only the caller knows.  ``function`` is the
    function whose code it is in.
    """

    index: int
    message: str
    span: Span | None
    args: tuple[str, ...] = ()
    function: str = ""


_NOWHERE = SourceInfo(None, None)


@dataclass(slots=True)
class ModuleContext:
    """State of one module being lowered.

    ``functions`` holds the declared LLVM function of every body, ``reached_from`` for each function the function that
    first calls it (``None`` for a kernel's body), ``allocs`` the globals that ``constant.lower_alloc`` has made,
    ``statics`` which of the allocations of one static stands for all of them, ``plain`` which of the constants of the
    same alignment, bytes and holes does.
    """

    program: Program
    layouts: LayoutTable
    target: Target
    module: ir.Module
    intrinsics: Lookup
    functions: dict[FnKey, ir.Function] = field(default_factory=dict[FnKey, ir.Function])
    allocs: dict[int, ir.Constant] = field(default_factory=dict[int, ir.Constant])
    statics: dict[str, int] = field(default_factory=dict[str, int])
    plain: dict[tuple[int, bytes, tuple[tuple[int, int], ...]], int] = field(
        default_factory=dict[tuple[int, bytes, tuple[tuple[int, int], ...]], int]
    )
    panics: list[PanicSite] = field(default_factory=list[PanicSite])
    symbols: dict[str, str] = field(default_factory=dict[str, str])
    reached_from: dict[FnKey, FnKey | None] = field(default_factory=dict[FnKey, FnKey | None])
    kernel_of: dict[FnKey, str] = field(default_factory=dict[FnKey, str])
    derived_layouts: dict[Ty, Layout] = field(default_factory=dict[Ty, Layout])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    annotate: bool = False

    def find_layout(self, ty: Ty) -> Layout | None:
        """The layout of ``ty``: rustc's, else the language's, else ``None``.  ``fx.layout`` raises instead."""
        found = self.layouts.get(ty.key)
        if found is None:
            found = self.derived_layouts.get(ty)
        if found is None:
            found = builtin_layout(ty, self.find_layout)
            if found is not None:
                self.derived_layouts[ty] = found
        return found

    def needs_drop(self, ty: Ty) -> bool | None:
        """Whether dropping a ``ty`` may run code, as rustc says; ``None`` where it does not."""
        found = self.find_layout(ty)
        return None if found is None else found.needs_drop

    def declare(self, name: str, result: ir.Type, params: Sequence[ir.Type]) -> ir.Function:
        """The external function ``name`` (LLVM intrinsics included), declared on first use."""
        known = self.module.globals.get(name)
        if known is not None:
            if not isinstance(known, ir.Function) or known.function_type != ir.FunctionType(result, params):
                raise InternalError(f"{name} is declared twice with different types")
            return known
        return ir.Function(self.module, ir.FunctionType(result, params), name)

    def panic_site(
        self, message: str, span: Span | None, args: tuple[str, ...] = (), function: str = ""
    ) -> PanicSite:  # fmt: skip
        """Registers a site."""
        site = PanicSite(len(self.panics), message, span, args, function)
        self.panics.append(site)
        return site

    def chain(self, key: FnKey) -> str:
        """``reached from kernel k: a -> b`` for the function ``key``; ``in kernel k`` for a kernel's own body."""
        names: list[str] = []
        at: FnKey | None = key
        while at is not None and len(names) < 64:
            if self.reached_from.get(at) is not None:
                names.append(readable(at[1]))
            at = self.reached_from.get(at)
        kernel = self.kernel_of.get(key, "?")
        return f"reached from kernel {kernel}: {' -> '.join(reversed(names))}" if names else f"in kernel {kernel}"


@dataclass(slots=True)
class FunctionContext:
    """State of one body being lowered.

    ``b`` is the builder, ``ctx`` the hidden launch context (``None`` where the target has none).  ``ssa`` holds locals
    that are plain values, ``slots`` the stack memory (``i8*``) of the others; use ``place.read_local`` and friends.
    ``source`` and ``statement`` say what is being lowered, for messages.  ``caller`` points at the ``Location`` of the
    call of a function that is ``#[track_caller]``.  ``definitions`` are for :mod:`mirgen.lower.message`.
    """

    cx: ModuleContext
    key: FnKey
    body: Body
    function: ir.Function
    b: ir.IRBuilder
    ctx: ir.Value | None = None
    caller: ir.Value | None = None
    blocks: list[ir.Block | None] = field(default_factory=list[ir.Block | None])
    ssa: dict[int, Scalar | Pair] = field(default_factory=dict[int, Scalar | Pair])
    ssa_locals: set[int] = field(default_factory=set[int])
    slots: dict[int, tuple[ir.Value, int]] = field(default_factory=dict[int, tuple[ir.Value, int]])
    entry: ir.Block | None = None
    subprogram: ir.DIValue | None = None
    source: SourceInfo = _NOWHERE
    statement: Statement | Terminator | None = None
    definitions: dict[int, Rvalue] | None = None

    # ---- layouts -------------------------------------------------------------------------------------------

    def layout(self, ty: Ty) -> Layout:
        """The layout of ``ty``; raises :class:`UnsupportedError` with span and chain where none is known."""
        found = self.cx.find_layout(ty)
        if found is None:
            raise self.unsupported("MG0301", f"the layout of `{ty.text}` is not known")
        return found

    def block(self, block: int) -> ir.Block:
        """The LLVM block where MIR block ``block`` begins."""
        found = self.blocks[block]
        if found is None:
            raise self.internal(f"a branch to bb{block}, which nothing reaches")
        return found

    # ---- memory --------------------------------------------------------------------------------------------

    def alloca(self, size: int, align: int, name: str = "") -> ir.Value:
        """Stack memory of the whole call, as ``i8*``: the ``alloca`` stands in the entry block."""
        if self.entry is None:
            raise InternalError("alloca before the entry block")
        with self.b.goto_block(self.entry):
            slot = self.b.alloca(types.llvm_blob(size), name=name)
            slot.align = align
            return self.b.bitcast(slot, types.PTR)

    def offset(self, ptr: ir.Value, offset: int) -> ir.Value:
        """``ptr`` plus a constant number of bytes inside one object."""
        return ptr if offset == 0 else self.b.gep(ptr, [types.usize(offset)], inbounds=True)

    def load(self, ptr: ir.Value, ty: ir.Type, align: int) -> ir.Value:
        """A load of the memory type ``ty`` from ``ptr`` (``i8*``)."""
        typed = ptr if ty is types.I8 else self.b.bitcast(ptr, ty.as_pointer())
        return self.b.load(typed, align=align)

    def store(self, value: ir.Value, ptr: ir.Value, align: int) -> None:
        """A store of ``value`` (of a memory type) to ``ptr`` (``i8*``)."""
        typed = ptr if value.type is types.I8 else self.b.bitcast(ptr, value.type.as_pointer())
        self.b.store(value, typed, align=align)

    # ---- messages ------------------------------------------------------------------------------------------

    @property
    def span(self) -> Span | None:
        """Where the statement being lowered stands in the source."""
        return self.source.span

    @property
    def caller_span(self) -> Span | None:
        """Where a panic of the statement being lowered is reported, as ``Location::caller()`` would be.

        Functions that rustc inlined are left outwards as long as they are ``#[track_caller]``.
        """
        return self._outwards()[0]

    @property
    def caller_location(self) -> ir.Value | None:
        """The pointer to that place's ``Location`` where only the function's caller knows it."""
        return self.caller if self._outwards()[1] else None

    def _outwards(self) -> tuple[Span | None, bool]:
        """A place in this body, and whether everything around it is ``#[track_caller]``."""
        span, scope = self.source.span, self.source.scope
        while scope is not None and scope < len(self.body.scopes):
            entry = self.body.scopes[scope]
            if entry.inlined is not None:
                if not entry.track_caller:
                    return span, False
                span = entry.span
            scope = entry.parent
        return span, True

    def unsupported(
        self, code: str, message: str, *, label: str = "", notes: Sequence[str] = (), helps: Sequence[str] = ()
    ) -> UnsupportedError:
        """The error to raise for user code that is refused: adds the span and the chain from the kernel."""
        return UnsupportedError(
            Diagnostic(
                code, message, user_location(self.body, self.source) or location(body_span(self.body)), label,
                notes=(*notes, *inline_notes(self.body, self.source), self.cx.chain(self.key)), helps=tuple(helps),
            )
        )  # fmt: skip

    def placed(self, error: UnsupportedError) -> UnsupportedError:
        """``error`` with the span and the chain wherever it has no span of its own."""
        found: list[Diagnostic] = []
        for d in error.diagnostics:
            here = self.unsupported(d.code, d.message, label=d.label, notes=d.notes, helps=d.helps)
            found.extend(here.diagnostics if d.location is None else (d,))
        return UnsupportedError(*found)

    def internal(self, message: str) -> InternalError:
        """The error to raise for a fault of mirgen itself: carries the MIR statement."""
        return InternalError(f"{message} (in {self.body.name})", statement=self.statement_text)

    @property
    def statement_text(self) -> str:
        """The MIR being lowered, as a person reads it."""
        if self.statement is None:
            return ""
        if isinstance(self.statement, Statement):
            return format_statement(self.statement)
        return format_terminator(self.statement)


def body_span(body: Body) -> Span | None:
    """Where a body stands, or the first of its statements where rustc's text does not say."""
    if body.span is not None:
        return body.span
    for block in body.blocks:
        for part in (*block.statements, block.terminator):
            if part.source.span is not None:
                return part.source.span
    return None


def location(span: Span | None) -> Location | None:
    """A MIR span as a diagnostic's location."""
    return None if span is None else Location(span.file, span.line, span.col, span.end_line, span.end_col)
