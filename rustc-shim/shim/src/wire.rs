//! The wire format: the JSON documents that [`crate::parse`] and [`crate::layout`] write.
//!
//! Mirrors `mirgen/ingest/wire.py` field by field; a change on one side must be made on the other.  Types, spans and
//! files are interned: a [`TyId`] indexes [`MirDocument::types`], a [`SpanId`] [`MirDocument::spans`].

use serde::{Deserialize, Serialize};

mod layout;

pub use layout::*;

/// Version of the documents this crate writes.
pub const WIRE_VERSION: u32 = 1;

pub type TyId = u32;
pub type SpanId = u32;
pub type FileId = u32;
pub type LocalId = u32;
pub type BlockId = u32;
pub type AllocId = u64;

// ---- types ------------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GenericArg {
    Type { ty: TyId },
    Const { text: String },
    Region { text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FnSig {
    pub inputs: Vec<TyId>,
    pub output: TyId,
    pub abi: String,
    #[serde(rename = "unsafe")]
    pub is_unsafe: bool,
    pub variadic: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClosureKind {
    Fn,
    FnMut,
    FnOnce,
}

/// Every variant has `text`: rustc's own spelling under `-Zverbose-internals`, the type's identity in a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ty {
    Int {
        text: String,
        name: String,
    },
    Float {
        text: String,
        name: String,
    },
    Bool {
        text: String,
    },
    Char {
        text: String,
    },
    Str {
        text: String,
    },
    Never {
        text: String,
    },
    Tuple {
        text: String,
        elems: Vec<TyId>,
    },
    Ref {
        text: String,
        mutable: bool,
        pointee: TyId,
    },
    Ptr {
        text: String,
        mutable: bool,
        pointee: TyId,
    },
    Array {
        text: String,
        elem: TyId,
        len: Option<String>,
    },
    Slice {
        text: String,
        elem: TyId,
    },
    Adt {
        text: String,
        path: String,
        args: Vec<GenericArg>,
    },
    FnPtr {
        text: String,
        sig: FnSig,
    },
    FnDef {
        text: String,
        path: String,
        sig: FnSig,
    },
    Closure {
        text: String,
        path: String,
        closure_kind: Option<ClosureKind>,
        sig: Option<FnSig>,
        upvars: Vec<TyId>,
    },
    Dynamic {
        text: String,
    },
    Param {
        text: String,
    },
    Alias {
        text: String,
    },
    Foreign {
        text: String,
    },
    /// A coroutine, `async fn` or `async` block after its transformation; `path` is its body's.
    Coroutine {
        text: String,
        path: String,
        upvars: Vec<TyId>,
        resume: TyId,
        yields: TyId,
        returns: TyId,
    },
    /// An async closure, or a coroutine of which the text says no more.
    OpaqueCoroutine {
        text: String,
    },
    Pattern {
        text: String,
    },
    UnsafeBinder {
        text: String,
    },
    Error {
        text: String,
    },
}

impl Ty {
    /// rustc's spelling.
    pub fn text(&self) -> &str {
        match self {
            Ty::Int { text, .. }
            | Ty::Float { text, .. }
            | Ty::Bool { text }
            | Ty::Char { text }
            | Ty::Str { text }
            | Ty::Never { text }
            | Ty::Tuple { text, .. }
            | Ty::Ref { text, .. }
            | Ty::Ptr { text, .. }
            | Ty::Array { text, .. }
            | Ty::Slice { text, .. }
            | Ty::Adt { text, .. }
            | Ty::FnPtr { text, .. }
            | Ty::FnDef { text, .. }
            | Ty::Closure { text, .. }
            | Ty::Dynamic { text }
            | Ty::Param { text }
            | Ty::Alias { text }
            | Ty::Foreign { text }
            | Ty::Coroutine { text, .. }
            | Ty::OpaqueCoroutine { text }
            | Ty::Pattern { text }
            | Ty::UnsafeBinder { text }
            | Ty::Error { text } => text,
        }
    }
}

// ---- places, constants, operands --------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Projection {
    Deref,
    Field { index: u32, ty: TyId },
    Downcast { variant: Option<String>, index: Option<u32> },
    Index { local: LocalId },
    ConstantIndex { offset: u64, min_length: u64, from_end: bool },
    Subslice { from: u64, to: u64, from_end: bool },
    OpaqueCast { ty: TyId },
    UnwrapBinder { ty: TyId },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub local: LocalId,
    pub proj: Vec<Projection>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Const {
    Scalar { ty: TyId, bits: String, size: u32 },
    Pointer { ty: TyId, alloc: AllocId, offset: u64 },
    Zst { ty: TyId },
    Slice { ty: TyId, alloc: AllocId, meta: u64 },
    Indirect { ty: TyId, alloc: AllocId, offset: u64 },
    Unevaluated { path: String, promoted: Option<u32>, ty: Option<TyId> },
    TyConst { text: String, ty: Option<TyId> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Operand {
    Copy {
        place: Place,
    },
    Move {
        place: Place,
    },
    Const {
        #[serde(rename = "const")]
        value: Const,
    },
    RuntimeChecks {
        check: String,
    },
}

// ---- rvalues ----------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Borrow {
    Shared,
    Mut,
    Fake,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rvalue {
    Use { operand: Operand },
    Repeat { operand: Operand, count: Option<String> },
    Ref { borrow: Borrow, place: Place },
    RawPtr { mutable: bool, place: Place },
    ThreadLocalRef { path: String },
    Cast { cast: String, operand: Operand, ty: TyId },
    Binary { op: String, left: Operand, right: Operand },
    Unary { op: String, operand: Operand },
    Discriminant { place: Place },
    CopyForDeref { place: Place },
    Array { operands: Vec<Operand> },
    Tuple { operands: Vec<Operand> },
    Adt { path: String, variant: Option<String>, fields: Vec<String>, operands: Vec<Operand> },
    Closure { location: String, operands: Vec<Operand>, complete: bool },
    RawPtrAggregate { ty: TyId, data: Operand, meta: Operand },
    WrapBinder { operand: Operand, ty: TyId },
}

// ---- statements and terminators ---------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StatementKind {
    Assign { place: Place, rvalue: Rvalue },
    SetDiscriminant { place: Place, variant_index: u32 },
    StorageLive { local: LocalId },
    StorageDead { local: LocalId },
    Assume { operand: Operand },
    CopyNonoverlapping { dst: Operand, src: Operand, count: Operand },
    Ignored { text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(flatten)]
    pub kind: StatementKind,
    pub span: Option<SpanId>,
    pub scope: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnwindAction {
    Continue,
    Unreachable,
    TerminateAbi,
    TerminateCleanup,
    Cleanup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwind {
    pub action: UnwindAction,
    pub block: Option<BlockId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchArm {
    pub value: String,
    pub target: BlockId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TerminatorKind {
    Goto { target: BlockId },
    SwitchInt { operand: Operand, arms: Vec<SwitchArm>, otherwise: BlockId },
    Return,
    Unreachable,
    Resume,
    CoroutineDrop,
    TerminateAbi,
    TerminateCleanup,
    Call { destination: Place, func: Operand, args: Vec<Operand>, target: Option<BlockId>, unwind: Unwind },
    TailCall { func: Operand, args: Vec<Operand> },
    Drop { place: Place, target: BlockId, unwind: Unwind },
    Assert { operand: Operand, expected: bool, message: String, args: Vec<Operand>, target: BlockId, unwind: Unwind },
    InlineAsm { text: String },
    Yield { text: String },
    FalseEdge { text: String },
    FalseUnwind { text: String },
    AsyncDrop { text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terminator {
    #[serde(flatten)]
    pub kind: TerminatorKind,
    pub span: Option<SpanId>,
    pub scope: Option<u32>,
}

// ---- bodies -----------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Local {
    pub ty: TyId,
    pub mutable: bool,
    pub name: Option<String>,
    pub span: Option<SpanId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    pub parent: Option<u32>,
    pub inlined: Option<String>,
    pub track_caller: bool,
    pub span: Option<SpanId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub cleanup: bool,
    pub statements: Vec<Statement>,
    pub terminator: Terminator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Fn,
    Const,
    Static,
    StaticMut,
    Promoted,
    Anon,
    TrivialConst,
}

/// `span` is where its return type stands, or would.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    pub kind: ItemKind,
    pub header: String,
    pub instance: Option<String>,
    pub ctfe: bool,
    pub promoted: Option<u32>,
    pub arg_count: u32,
    pub locals: Vec<Local>,
    pub scopes: Vec<Scope>,
    pub blocks: Vec<Block>,
    pub span: Option<SpanId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrivialConst {
    pub header: String,
    pub ty: TyId,
    pub value: Operand,
}

// ---- allocations ------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relocation {
    pub at: u64,
    pub size: u32,
    pub alloc: AllocId,
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Alloc {
    Memory {
        id: AllocId,
        #[serde(rename = "static")]
        static_path: Option<String>,
        size: u64,
        align: u64,
        bytes: String,
        uninit: Vec<(u64, u64)>,
        relocations: Vec<Relocation>,
    },
    Fn {
        id: AllocId,
        instance: String,
    },
    Vtable {
        id: AllocId,
        text: String,
    },
    Typeid {
        id: AllocId,
        text: String,
    },
    StaticUnprinted {
        id: AllocId,
        text: String,
    },
    StaticError {
        id: AllocId,
        text: String,
    },
    ExternStatic {
        id: AllocId,
        text: String,
    },
    Deallocated {
        id: AllocId,
        text: String,
    },
}

impl Alloc {
    /// The number in `allocN`.
    pub fn id(&self) -> AllocId {
        match self {
            Alloc::Memory { id, .. }
            | Alloc::Fn { id, .. }
            | Alloc::Vtable { id, .. }
            | Alloc::Typeid { id, .. }
            | Alloc::StaticUnprinted { id, .. }
            | Alloc::StaticError { id, .. }
            | Alloc::ExternStatic { id, .. }
            | Alloc::Deallocated { id, .. } => *id,
        }
    }
}

// ---- documents --------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiler {
    pub release: String,
    pub commit_hash: Option<String>,
    pub commit_date: Option<String>,
    pub host: Option<String>,
    pub llvm_version: Option<String>,
    /// The grammar the text was read with: "1.95", "1.96" or "1.97".
    pub grammar: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    pub file: FileId,
    pub line: u32,
    pub col: u32,
    pub end_line: u32,
    pub end_col: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub header: String,
    pub instance: Option<String>,
    pub kind: ItemKind,
    pub line: u64,
    pub args: Vec<String>,
    pub output: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MirDocument {
    pub schema: String,
    pub version: u32,
    pub crate_name: String,
    pub compiler: Compiler,
    pub target: String,
    pub flags: Vec<String>,
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub parts: MirDocumentParts,
}

/// What the reader of the text fills in; the rest of a [`MirDocument`] is known to who ran rustc.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MirDocumentParts {
    pub files: Vec<String>,
    pub spans: Vec<Span>,
    pub types: Vec<Ty>,
    pub index: Vec<Header>,
    pub bodies: Vec<Body>,
    pub trivial_consts: Vec<TrivialConst>,
    pub allocs: Vec<Alloc>,
}

impl MirDocument {
    /// A whole document around what was read.
    pub fn new(
        crate_name: String,
        compiler: Compiler,
        target: String,
        flags: Vec<String>,
        notes: Vec<String>,
        parts: MirDocumentParts,
    ) -> Self {
        MirDocument {
            schema: "mirgen-mir".to_owned(),
            version: WIRE_VERSION,
            crate_name,
            compiler,
            target,
            flags,
            notes,
            parts,
        }
    }
}
