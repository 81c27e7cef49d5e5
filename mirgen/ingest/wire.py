"""The wire format: JSON that ``mirgen-rustc`` (the Rust shim) writes and :mod:`mirgen.ingest` reads.

One document describes selected MIR bodies of one crate as one rustc printed them.  Every model is frozen,
refuses unknown fields, and unions are discriminated on ``kind``.  Types, spans and file names are interned: a
``TyId`` indexes :attr:`MirDocument.types`, a ``SpanId`` :attr:`MirDocument.spans`, a ``FileId``
:attr:`MirDocument.files`.  Integers that may pass 2**53 travel as strings (``"0x.."``, exactly rustc's bits).
The JSON Schemas in ``schemas/`` are generated from these models (``./x check`` compares them).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

#: Version of the document that this package reads.  Any change of a model's meaning raises it.
WIRE_VERSION = 1

TyId: TypeAlias = Annotated[int, Field(ge=0)]
SpanId: TypeAlias = Annotated[int, Field(ge=0)]
FileId: TypeAlias = Annotated[int, Field(ge=0)]
LocalId: TypeAlias = Annotated[int, Field(ge=0)]
BlockId: TypeAlias = Annotated[int, Field(ge=0)]
AllocId: TypeAlias = Annotated[int, Field(ge=0)]
HexBits: TypeAlias = Annotated[str, Field(pattern=r"^0x[0-9a-f]+$")]


class Wire(BaseModel):
    """Base of every wire model: immutable, no unknown fields, no coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


# ---- types -----------------------------------------------------------------------------------------------
# Every type has `text`: rustc's own spelling under -Zverbose-internals (regions erased), which is its identity
# inside a document and the key by which layouts are joined.


class IntTy(Wire):
    kind: Literal["int"]
    text: str
    name: Literal["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"]


class FloatTy(Wire):
    kind: Literal["float"]
    text: str
    name: Literal["f16", "f32", "f64", "f128"]


class SimpleTy(Wire):
    """``bool``, ``char``, ``str`` and ``!``."""

    kind: Literal["bool", "char", "str", "never"]
    text: str


class TupleTy(Wire):
    kind: Literal["tuple"]
    text: str
    elems: tuple[TyId, ...]


class RefTy(Wire):
    kind: Literal["ref"]
    text: str
    mutable: bool
    pointee: TyId


class PtrTy(Wire):
    kind: Literal["ptr"]
    text: str
    mutable: bool
    pointee: TyId


class ArrayTy(Wire):
    """``len`` is the element count in decimal when rustc has evaluated it, else ``None`` (generic bodies)."""

    kind: Literal["array"]
    text: str
    elem: TyId
    len: str | None


class SliceTy(Wire):
    kind: Literal["slice"]
    text: str
    elem: TyId


class TyArg(Wire):
    kind: Literal["type"]
    ty: TyId


class ConstArg(Wire):
    """A const generic argument; ``text`` is rustc's (``ValTree(Leaf(0x0000000000000003): usize)``)."""

    kind: Literal["const"]
    text: str


class RegionArg(Wire):
    kind: Literal["region"]
    text: str


GenericArg: TypeAlias = Annotated[TyArg | ConstArg | RegionArg, Field(discriminator="kind")]


class AdtTy(Wire):
    """Struct, enum or union.  ``path`` has no generic arguments: ``core::option::Option``."""

    kind: Literal["adt"]
    text: str
    path: str
    args: tuple[GenericArg, ...]


class FnSig(Wire):
    inputs: tuple[TyId, ...]
    output: TyId
    abi: str = "Rust"
    unsafe: bool = False
    variadic: bool = False


class FnPtrTy(Wire):
    kind: Literal["fn_ptr"]
    text: str
    sig: FnSig


class FnDefTy(Wire):
    """The zero-sized type of one function.  ``path`` is rustc's callee text with its generic arguments."""

    kind: Literal["fn_def"]
    text: str
    path: str
    sig: FnSig


class ClosureTy(Wire):
    """``path`` is rustc's, e.g. ``nested::{closure#0}``; ``sig`` is the rust-call signature."""

    kind: Literal["closure"]
    text: str
    path: str
    closure_kind: Literal["Fn", "FnMut", "FnOnce"] | None
    sig: FnSig | None
    upvars: tuple[TyId, ...]


class CoroutineTy(Wire):
    """A coroutine, ``async fn`` or ``async`` block; ``path`` is its body's, e.g. ``f::{closure#0}``."""

    kind: Literal["coroutine"]
    text: str
    path: str
    upvars: tuple[TyId, ...]
    resume: TyId
    yields: TyId
    returns: TyId


class OpaqueTextTy(Wire):
    """Types whose inside no stage needs yet; the text is their identity.

    ``dynamic`` (``dyn Trait``), ``param`` (generic ``T``), ``alias`` (projections, opaque types), ``foreign``,
    ``opaque_coroutine`` (async closures), ``pattern``, ``unsafe_binder``, ``error``.
    """

    kind: Literal["dynamic", "param", "alias", "foreign", "opaque_coroutine", "pattern", "unsafe_binder", "error"]
    text: str


Ty: TypeAlias = Annotated[
    IntTy | FloatTy | SimpleTy | TupleTy | RefTy | PtrTy | ArrayTy | SliceTy | AdtTy | FnPtrTy | FnDefTy | ClosureTy
    | CoroutineTy | OpaqueTextTy,
    Field(discriminator="kind"),
]  # fmt: skip

# ---- places, constants, operands -------------------------------------------------------------------------


class Deref(Wire):
    kind: Literal["deref"]


class FieldProj(Wire):
    kind: Literal["field"]
    index: int
    ty: TyId


class Downcast(Wire):
    """``variant`` is the name; ``None`` and an ``index`` for ``variant#i``.  ``index`` comes from the side channel."""

    kind: Literal["downcast"]
    variant: str | None
    index: int | None


class IndexProj(Wire):
    kind: Literal["index"]
    local: LocalId


class ConstantIndex(Wire):
    kind: Literal["constant_index"]
    offset: int
    min_length: int
    from_end: bool


class Subslice(Wire):
    """``P[from..to]`` (array, ``from_end`` false) or ``P[from:-to]`` (``from_end`` true)."""

    kind: Literal["subslice"]
    from_: int = Field(alias="from")
    to: int
    from_end: bool


class OpaqueCast(Wire):
    kind: Literal["opaque_cast", "unwrap_binder"]
    ty: TyId


Projection: TypeAlias = Annotated[
    Deref | FieldProj | Downcast | IndexProj | ConstantIndex | Subslice | OpaqueCast, Field(discriminator="kind")
]


class Place(Wire):
    local: LocalId
    proj: tuple[Projection, ...] = ()


class ScalarConst(Wire):
    """Exact bits as rustc prints them; their width is ``size`` bytes."""

    kind: Literal["scalar"]
    ty: TyId
    bits: HexBits
    size: int


class PointerConst(Wire):
    kind: Literal["pointer"]
    ty: TyId
    alloc: AllocId
    offset: int


class ZstConst(Wire):
    """A zero-sized value; for ``FnDef`` types this is how a callee is named."""

    kind: Literal["zst"]
    ty: TyId


class SliceConst(Wire):
    kind: Literal["slice"]
    ty: TyId
    alloc: AllocId
    meta: int


class IndirectConst(Wire):
    kind: Literal["indirect"]
    ty: TyId
    alloc: AllocId
    offset: int


class UnevaluatedConst(Wire):
    """A constant that rustc left as a path.  ``ty`` is known only where spans' extra lines print it."""

    kind: Literal["unevaluated"]
    path: str
    promoted: int | None
    ty: TyId | None


class TyConst(Wire):
    """A ``ty::Const``: a generic parameter or ``ValTree``; text is rustc's."""

    kind: Literal["ty_const"]
    text: str
    ty: TyId | None


Const: TypeAlias = Annotated[
    ScalarConst | PointerConst | ZstConst | SliceConst | IndirectConst | UnevaluatedConst | TyConst,
    Field(discriminator="kind"),
]


class PlaceOperand(Wire):
    kind: Literal["copy", "move"]
    place: Place


class ConstOperand(Wire):
    kind: Literal["const"]
    const: Const


class RuntimeChecks(Wire):
    kind: Literal["runtime_checks"]
    check: Literal["UbChecks", "ContractChecks", "OverflowChecks"]


Operand: TypeAlias = Annotated[PlaceOperand | ConstOperand | RuntimeChecks, Field(discriminator="kind")]

# ---- rvalues ---------------------------------------------------------------------------------------------


class Use(Wire):
    kind: Literal["use"]
    operand: Operand


class Repeat(Wire):
    kind: Literal["repeat"]
    operand: Operand
    count: str | None


class Ref(Wire):
    kind: Literal["ref"]
    borrow: Literal["shared", "mut", "fake"]
    place: Place


class RawPtr(Wire):
    kind: Literal["raw_ptr"]
    mutable: bool
    place: Place


class ThreadLocalRef(Wire):
    kind: Literal["thread_local_ref"]
    path: str


class Cast(Wire):
    """``cast`` is rustc's CastKind text: ``IntToInt``, ``Transmute``, ``PointerCoercion(Unsize, Implicit)``, .."""

    kind: Literal["cast"]
    cast: str
    operand: Operand
    ty: TyId


class BinaryOp(Wire):
    """``op`` is rustc's BinOp name: ``Add``, ``AddWithOverflow``, ``ShlUnchecked``, ``Cmp``, ``Offset``, .."""

    kind: Literal["binary"]
    op: str
    left: Operand
    right: Operand


class UnaryOp(Wire):
    kind: Literal["unary"]
    op: Literal["Not", "Neg", "PtrMetadata"]
    operand: Operand


class Discriminant(Wire):
    kind: Literal["discriminant"]
    place: Place


class CopyForDeref(Wire):
    kind: Literal["copy_for_deref"]
    place: Place


class ArrayAggregate(Wire):
    kind: Literal["array"]
    operands: tuple[Operand, ...]


class TupleAggregate(Wire):
    kind: Literal["tuple"]
    operands: tuple[Operand, ...]


class AdtAggregate(Wire):
    """``path`` as printed, generic arguments included.  ``variant`` (enums) is the last segment where the
    destination's type is an ADT whose path the printed one extends.  ``fields`` are names in declaration order,
    empty for tuple and unit forms.  For a union the one operand may carry the wrong name (mir-text.md 0.2)."""

    kind: Literal["adt"]
    path: str
    variant: str | None
    fields: tuple[str, ...]
    operands: tuple[Operand, ...]


class ClosureAggregate(Wire):
    """``complete`` is false where the main text lost operands and no side channel restored them."""

    kind: Literal["closure"]
    location: str
    operands: tuple[Operand, ...]
    complete: bool


class RawPtrAggregate(Wire):
    kind: Literal["raw_ptr_aggregate"]
    ty: TyId
    data: Operand
    meta: Operand


class WrapBinder(Wire):
    kind: Literal["wrap_binder"]
    operand: Operand
    ty: TyId


Rvalue: TypeAlias = Annotated[
    Use | Repeat | Ref | RawPtr | ThreadLocalRef | Cast | BinaryOp | UnaryOp | Discriminant | CopyForDeref
    | ArrayAggregate | TupleAggregate | AdtAggregate | ClosureAggregate | RawPtrAggregate | WrapBinder,
    Field(discriminator="kind"),
]  # fmt: skip

# ---- statements and terminators --------------------------------------------------------------------------


class Sourced(Wire):
    span: SpanId | None = None
    scope: int | None = None


class Assign(Sourced):
    kind: Literal["assign"]
    place: Place
    rvalue: Rvalue


class SetDiscriminant(Sourced):
    """``variant_index`` is rustc's VariantIdx, not the discriminant's value."""

    kind: Literal["set_discriminant"]
    place: Place
    variant_index: int


class Storage(Sourced):
    kind: Literal["storage_live", "storage_dead"]
    local: LocalId


class Assume(Sourced):
    kind: Literal["assume"]
    operand: Operand


class CopyNonoverlapping(Sourced):
    kind: Literal["copy_nonoverlapping"]
    dst: Operand
    src: Operand
    count: Operand


class Ignored(Sourced):
    """Statements without run-time meaning, kept so that the printer gives back what was read: ``nop``, ``Retag``,
    ``FakeRead``, ``PlaceMention``, ``AscribeUserType``, ``Coverage``, ``ConstEvalCounter``,
    ``BackwardIncompatibleDropHint``."""

    kind: Literal["ignored"]
    text: str


Statement: TypeAlias = Annotated[
    Assign | SetDiscriminant | Storage | Assume | CopyNonoverlapping | Ignored, Field(discriminator="kind")
]


class Unwind(Wire):
    action: Literal["continue", "unreachable", "terminate_abi", "terminate_cleanup", "cleanup"]
    block: BlockId | None = None


class Goto(Sourced):
    kind: Literal["goto"]
    target: BlockId


class SwitchArm(Wire):
    """``value`` is rustc's unsigned 128-bit pattern in decimal."""

    value: str
    target: BlockId


class SwitchInt(Sourced):
    kind: Literal["switch_int"]
    operand: Operand
    arms: tuple[SwitchArm, ...]
    otherwise: BlockId


class Simple(Sourced):
    kind: Literal["return", "unreachable", "resume", "coroutine_drop", "terminate_abi", "terminate_cleanup"]


class Call(Sourced):
    """``func`` is a ``zst`` constant of a ``fn_def`` type, or a place holding a function pointer."""

    kind: Literal["call"]
    destination: Place
    func: Operand
    args: tuple[Operand, ...]
    target: BlockId | None
    unwind: Unwind


class TailCall(Sourced):
    kind: Literal["tail_call"]
    func: Operand
    args: tuple[Operand, ...]


class Drop(Sourced):
    kind: Literal["drop"]
    place: Place
    target: BlockId
    unwind: Unwind


class Assert(Sourced):
    """``message`` is rustc's format string, which is the discriminator of the assert's kind."""

    kind: Literal["assert"]
    operand: Operand
    expected: bool
    message: str
    args: tuple[Operand, ...]
    target: BlockId
    unwind: Unwind


class InlineAsm(Sourced):
    kind: Literal["inline_asm"]
    text: str


class UnsupportedTerminator(Sourced):
    """Terminators that run-time MIR hardly ever holds: ``yield``, ``falseEdge``, ``falseUnwind``, ``async drop``."""

    kind: Literal["yield", "false_edge", "false_unwind", "async_drop"]
    text: str


Terminator: TypeAlias = Annotated[
    Goto | SwitchInt | Simple | Call | TailCall | Drop | Assert | InlineAsm | UnsupportedTerminator,
    Field(discriminator="kind"),
]  # fmt: skip

# ---- bodies ----------------------------------------------------------------------------------------------


class Local(Wire):
    """``name`` is the user's variable when a plain ``debug x => _N`` names the whole local."""

    ty: TyId
    mutable: bool
    name: str | None = None
    span: SpanId | None = None


class Scope(Wire):
    """``inlined`` is the callee's text when this scope is the root of an inlined body, ``span`` its call site."""

    parent: int | None
    inlined: str | None = None
    track_caller: bool = False
    span: SpanId | None = None


class Block(Wire):
    cleanup: bool = False
    statements: tuple[Statement, ...]
    terminator: Terminator


class Body(Wire):
    """``header`` is the path in the main dump's header, ``instance`` the one of the stable-mir side channel.

    ``span`` is where the return type stands, or would.
    """

    kind: Literal["fn", "const", "static", "static_mut", "promoted", "anon"]
    header: str
    instance: str | None
    ctfe: bool = False
    promoted: int | None = None
    arg_count: int
    locals: tuple[Local, ...]
    scopes: tuple[Scope, ...]
    blocks: tuple[Block, ...]
    span: SpanId | None = None


class TrivialConst(Wire):
    """The one-line form ``const PATH: TY = const VALUE;``."""

    header: str
    ty: TyId
    value: Operand


# ---- allocations -----------------------------------------------------------------------------------------


class Relocation(Wire):
    """A pointer of ``size`` bytes at byte ``at``: to ``alloc`` plus ``offset``."""

    at: int
    size: int
    alloc: AllocId
    offset: int


class MemoryAlloc(Wire):
    """``bytes`` is lower-case hex, two digits a byte, ``00`` where uninitialised or a pointer; ``uninit`` lists
    half-open byte ranges."""

    kind: Literal["memory"]
    id: AllocId
    static: str | None
    size: int
    align: int
    bytes: str
    uninit: tuple[tuple[int, int], ...]
    relocations: tuple[Relocation, ...]


class FnAlloc(Wire):
    kind: Literal["fn"]
    id: AllocId
    instance: str


class OtherAlloc(Wire):
    """Allocations whose contents the text does not give."""

    kind: Literal["vtable", "typeid", "static_unprinted", "static_error", "extern_static", "deallocated"]
    id: AllocId
    text: str


Alloc: TypeAlias = Annotated[MemoryAlloc | FnAlloc | OtherAlloc, Field(discriminator="kind")]

# ---- documents -------------------------------------------------------------------------------------------


class Compiler(Wire):
    release: str
    commit_hash: str | None
    commit_date: str | None
    host: str | None
    llvm_version: str | None
    #: the grammar the shim used: "1.95", "1.96" or "1.97"
    grammar: str


class Span(Wire):
    """1-based, end exclusive in columns, as rustc prints them."""

    file: FileId
    line: int
    col: int
    end_line: int
    end_col: int


class Header(Wire):
    """One entry of the crate's index: every body in the dump, parsed or not.  ``line`` is 1-based in the dump."""

    header: str
    instance: str | None
    kind: Literal["fn", "const", "static", "static_mut", "promoted", "anon", "trivial_const"]
    line: int
    args: tuple[str, ...] = ()
    output: str = ""


class MirDocument(Wire):
    schema_: Literal["mirgen-mir"] = Field(alias="schema")
    version: Literal[1]
    crate_name: str
    compiler: Compiler
    target: str
    flags: tuple[str, ...]
    notes: tuple[str, ...] = ()
    files: tuple[str, ...]
    spans: tuple[Span, ...]
    types: tuple[Ty, ...]
    index: tuple[Header, ...]
    bodies: tuple[Body, ...]
    trivial_consts: tuple[TrivialConst, ...]
    allocs: tuple[Alloc, ...]


# ---- layouts ---------------------------------------------------------------------------------------------


class ScalarLayout(Wire):
    """rustc's ``Scalar``: ``primitive`` is ``i8``..``i128`` (sign in ``signed``), ``f16``..``f128`` or ``pointer``;
    the valid range is inclusive and may wrap (start > end)."""

    primitive: Literal["i8", "i16", "i32", "i64", "i128", "f16", "f32", "f64", "f128", "pointer"]
    signed: bool
    initialized: bool
    valid_start: HexBits
    valid_end: HexBits


class ReprScalar(Wire):
    kind: Literal["scalar"]
    value: ScalarLayout


class ReprPair(Wire):
    kind: Literal["scalar_pair"]
    first: ScalarLayout
    second: ScalarLayout


class ReprVector(Wire):
    kind: Literal["vector"]
    element: ScalarLayout
    count: int


class ReprMemory(Wire):
    kind: Literal["memory"]
    sized: bool


BackendRepr: TypeAlias = Annotated[ReprScalar | ReprPair | ReprVector | ReprMemory, Field(discriminator="kind")]


class FieldsPrimitive(Wire):
    kind: Literal["primitive"]


class FieldsUnion(Wire):
    kind: Literal["union"]
    count: int


class FieldsArray(Wire):
    kind: Literal["array"]
    stride: int
    count: int


class FieldsArbitrary(Wire):
    """Byte offsets in declaration order."""

    kind: Literal["arbitrary"]
    offsets: tuple[int, ...]


FieldsShape: TypeAlias = Annotated[
    FieldsPrimitive | FieldsUnion | FieldsArray | FieldsArbitrary, Field(discriminator="kind")
]


class VariantsEmpty(Wire):
    kind: Literal["empty"]


class VariantsSingle(Wire):
    kind: Literal["single"]
    index: int


class TagDirect(Wire):
    kind: Literal["direct"]


class TagNiche(Wire):
    """``niche_end`` is inclusive."""

    kind: Literal["niche"]
    untagged_variant: int
    niche_first: int
    niche_last: int
    niche_start: HexBits


TagEncoding: TypeAlias = Annotated[TagDirect | TagNiche, Field(discriminator="kind")]


class VariantsMultiple(Wire):
    """``tag_field`` indexes the enum's own ``fields``; its offset is the tag's."""

    kind: Literal["multiple"]
    tag: ScalarLayout
    tag_encoding: TagEncoding
    tag_field: int
    variants: tuple[LayoutData, ...]


Variants: TypeAlias = Annotated[VariantsEmpty | VariantsSingle | VariantsMultiple, Field(discriminator="kind")]


class LayoutData(Wire):
    size: int
    align: int
    backend_repr: BackendRepr
    fields: FieldsShape
    variants: Variants
    uninhabited: bool


class VariantName(Wire):
    """One variant of an enum in index order; ``discriminant`` is its value as rustc's debug info has it (decimal,
    signed where the enum's discriminant type is)."""

    name: str
    discriminant: str


class TypeLayout(Wire):
    """``ty`` is the type's text as in :class:`MirDocument`.  ``variant_names`` is ``None`` for non-enums.

    ``needs_drop``: whether dropping a value may run code (``core::mem::needs_drop``).
    """

    ty: str
    layout: LayoutData
    needs_drop: bool
    variant_names: tuple[VariantName, ...] | None
    checked_by: tuple[Literal["debuginfo", "print-type-sizes"], ...]


class LayoutFailure(Wire):
    ty: str
    reason: str


class LayoutDocument(Wire):
    schema_: Literal["mirgen-layout"] = Field(alias="schema")
    version: Literal[1]
    compiler: Compiler
    target: str
    layouts: tuple[TypeLayout, ...]
    failures: tuple[LayoutFailure, ...]


VariantsMultiple.model_rebuild()
