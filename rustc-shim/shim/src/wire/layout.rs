//! Documents of layouts.

use serde::{Deserialize, Serialize};

use super::Compiler;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScalarLayout {
    /// `i8`..`i128` (sign in `signed`), `f16`..`f128` or `pointer`.
    pub primitive: String,
    pub signed: bool,
    pub initialized: bool,
    /// Inclusive, may wrap; lower-case hex with `0x`.
    pub valid_start: String,
    pub valid_end: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BackendRepr {
    Scalar { value: ScalarLayout },
    ScalarPair { first: ScalarLayout, second: ScalarLayout },
    Vector { element: ScalarLayout, count: u64 },
    Memory { sized: bool },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FieldsShape {
    Primitive,
    Union { count: u64 },
    Array { stride: u64, count: u64 },
    Arbitrary { offsets: Vec<u64> },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TagEncoding {
    Direct,
    Niche { untagged_variant: u32, niche_first: u32, niche_last: u32, niche_start: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Variants {
    Empty,
    Single { index: u32 },
    Multiple { tag: ScalarLayout, tag_encoding: TagEncoding, tag_field: u32, variants: Vec<LayoutData> },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutData {
    pub size: u64,
    pub align: u64,
    pub backend_repr: BackendRepr,
    pub fields: FieldsShape,
    pub variants: Variants,
    pub uninhabited: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantName {
    pub name: String,
    pub discriminant: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLayout {
    pub ty: String,
    pub layout: LayoutData,
    /// Whether dropping a value may run code.
    pub needs_drop: bool,
    pub variant_names: Option<Vec<VariantName>>,
    /// `debuginfo`, `print-type-sizes`.
    pub checked_by: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFailure {
    pub ty: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutDocument {
    pub schema: String,
    pub version: u32,
    pub compiler: Compiler,
    pub target: String,
    pub layouts: Vec<TypeLayout>,
    pub failures: Vec<LayoutFailure>,
}
