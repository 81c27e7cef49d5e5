//! Reader of the debug-information metadata in LLVM's textual IR: what rustc says there about a type's size, its
//! members, and an enum's variants.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::wire::VariantName;

/// Metadata of one module, parsed where it is looked at.
pub struct Metadata<'a> {
    nodes: HashMap<u32, &'a str>,
    /// Function names and their node.
    pub functions: HashMap<&'a str, u32>,
}

/// A node of the forms that are read: `!DIName(key: value, ..)`.
pub struct Node<'a> {
    pub kind: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

/// What debug information says about one type.  Sizes and offsets are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    pub size: u64,
    pub align: Option<u64>,
    pub shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Scalars, pointers, arrays: nothing inside is looked at.
    Opaque,
    /// Offsets in declaration order.
    Struct(Vec<u64>),
    Union(usize),
    Enum {
        /// Where the tag lies and how many bytes it has; `None` when there is none.
        tag: Option<(u64, u64)>,
        variants: Vec<VariantInfo>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantInfo {
    pub name: String,
    /// The tag's value; `None` for the variant that needs none.
    pub tag: Option<Tag>,
    /// Offsets of the variant's fields in declaration order; `None` where they are not given.
    pub offsets: Option<Vec<u64>>,
}

/// A tag as it is stored and as its type reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Zero-extended.
    pub bits: u128,
    /// Decimal, with a sign where the tag's type has one.
    pub text: String,
}

/// What a definition is, by its debug information.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Struct or union.
    Plain,
    Enum(Vec<VariantName>),
    /// Several definitions have this path.
    Contradictory,
}

impl<'a> Metadata<'a> {
    /// Indexes a module's text.
    pub fn of(text: &'a str) -> Self {
        let mut nodes = HashMap::new();
        let mut functions = HashMap::new();
        for line in text.lines().filter(|line| line.starts_with('!')) {
            let Some((id, body)) = line[1..].split_once(" = ") else { continue };
            let Ok(id) = id.parse::<u32>() else { continue };
            let body = body.strip_prefix("distinct ").unwrap_or(body);
            let subprogram = body.strip_prefix("!DISubprogram(name: \"");
            if let Some((name, _)) = subprogram.and_then(|rest| rest.split_once('"')) {
                functions.insert(name, id);
            }
            nodes.insert(id, body);
        }
        Self { nodes, functions }
    }

    pub fn node(&self, id: u32) -> Option<Node<'a>> {
        let body = *self.nodes.get(&id)?;
        let (kind, fields) = body.strip_prefix('!')?.split_once('(')?;
        Some(Node { kind, fields: split_fields(fields.strip_suffix(')')?) })
    }

    /// The structures of the module and their names.
    pub fn structures(&self) -> impl Iterator<Item = (u32, &'a str)> + '_ {
        let head = "!DICompositeType(tag: DW_TAG_structure_type, name: \"";
        self.nodes.iter().filter_map(move |(id, body)| Some((*id, body.strip_prefix(head)?.split_once('"')?.0)))
    }

    /// The elements of a `!{!1, null, !2}` node.
    pub fn list(&self, id: u32) -> Option<Vec<Option<u32>>> {
        let inner = self.nodes.get(&id)?.strip_prefix("!{")?.strip_suffix('}')?;
        let items = inner.split(", ").filter(|item| !item.is_empty());
        Some(items.map(|item| item.strip_prefix('!').and_then(|id| id.parse().ok())).collect())
    }

    pub fn children(&self, node: &Node<'_>) -> Vec<Node<'a>> {
        let list = node.reference("elements").and_then(|id| self.list(id)).unwrap_or_default();
        list.into_iter().flatten().filter_map(|id| self.node(id)).collect()
    }

    /// What the first parameter of `fn(*const T)` points at.
    pub fn pointee_of_first_parameter(&self, function: &str) -> Option<u32> {
        let subroutine = self.node(self.node(*self.functions.get(function)?)?.reference("type")?)?;
        let types = self.list(subroutine.reference("types")?)?;
        self.node((*types.get(1)?)?)?.reference("baseType")
    }

    /// `krate::module::Name` of a type, without generic arguments.
    pub fn path(&self, node: &Node<'a>) -> Option<String> {
        let mut names = vec![without_arguments(&unquote(node.text("name")?))];
        let mut scope = node.reference("scope");
        while let Some(id) = scope {
            let node = self.node(id)?;
            match node.kind {
                "DINamespace" | "DICompositeType" => names.push(without_arguments(&unquote(node.text("name")?))),
                _ => return None,
            }
            scope = node.reference("scope");
        }
        names.reverse();
        Some(names.join("::"))
    }

    pub fn variant_part(&self, node: &Node<'a>) -> Option<Node<'a>> {
        self.children(node).into_iter().find(|child| child.text("tag") == Some("DW_TAG_variant_part"))
    }

    /// Size, members and variants of a type.
    pub fn describe(&self, id: u32) -> Option<TypeInfo> {
        let node = self.node(id)?;
        let size = node.bytes("size")?;
        let align = node.text("align").and_then(|text| text.parse::<u64>().ok()).map(|bits| bits / 8);
        let shape = match node.text("tag") {
            Some("DW_TAG_structure_type") => match self.variant_part(&node) {
                Some(part) => self.tagged(&part)?,
                None if self.is_wide_pointer(&node) => Shape::Opaque,
                None => Shape::Struct(self.offsets(&node)?),
            },
            Some("DW_TAG_enumeration_type") => self.c_like(&node, size)?,
            Some("DW_TAG_union_type") => Shape::Union(self.children(&node).len()),
            _ => Shape::Opaque,
        };
        Some(TypeInfo { size, align, shape })
    }

    fn offsets(&self, node: &Node<'a>) -> Option<Vec<u64>> {
        let children = self.children(node);
        let members = children.iter().filter(|child| child.text("tag") == Some("DW_TAG_member"));
        members.map(|member| member.bytes("offset")).collect()
    }

    /// References and boxes of unsized types are structs of their two words here.
    fn is_wide_pointer(&self, node: &Node<'a>) -> bool {
        let children = self.children(node);
        let names: Vec<&str> = children.iter().filter_map(|child| child.text("name")).collect();
        matches!(names.as_slice(), ["\"data_ptr\"", "\"length\""] | ["\"pointer\"", "\"vtable\""])
    }

    fn tagged(&self, part: &Node<'a>) -> Option<Shape> {
        let mut tag = None;
        let mut tag_type = None;
        if let Some(member) = part.reference("discriminator").and_then(|id| self.node(id)) {
            tag = Some((member.bytes("offset")?, member.bytes("size")?));
            tag_type = member.reference("baseType").and_then(|id| self.node(id));
        }
        let mut variants = Vec::new();
        for member in self.children(part) {
            let variant = self.node(member.reference("baseType")?)?;
            let name = unquote(member.text("name")?);
            let value = match member.text("extraData") {
                Some(text) => {
                    let (_, value) = text.split_once(' ')?;
                    let bits = tag.map(|(_, size)| size * 8)?;
                    Some(interpret(value, bits, signed(tag_type.as_ref()))?)
                }
                None => None,
            };
            variants.push(VariantInfo { name, tag: value, offsets: Some(self.offsets(&variant)?) });
        }
        Some(Shape::Enum { tag, variants })
    }

    /// Enums whose variants have no fields: a list of names and values.
    fn c_like(&self, node: &Node<'a>, size: u64) -> Option<Shape> {
        let is_signed = signed(node.reference("baseType").and_then(|id| self.node(id)).as_ref());
        let mut variants = Vec::new();
        for enumerator in self.children(node) {
            let value = interpret(enumerator.text("value")?, size * 8, is_signed)?;
            variants.push(VariantInfo { name: unquote(enumerator.text("name")?), tag: Some(value), offsets: None });
        }
        Some(Shape::Enum { tag: Some((0, size)), variants })
    }

    /// Every struct, union and enum of the module by the path of its definition.
    pub fn definitions(&self) -> BTreeMap<String, Kind> {
        let mut out: BTreeMap<String, Kind> = BTreeMap::new();
        for (id, body) in &self.nodes {
            let tag = body.strip_prefix("!DICompositeType(tag: ").and_then(|rest| rest.split(',').next());
            if !matches!(tag, Some("DW_TAG_structure_type" | "DW_TAG_enumeration_type" | "DW_TAG_union_type")) {
                continue;
            }
            let Some(node) = self.node(*id) else { continue };
            // Variants are structures inside their enum.
            let scope = node.reference("scope").and_then(|id| self.node(id));
            if scope.is_none_or(|scope| scope.kind != "DINamespace") {
                continue;
            }
            let (Some(path), Some(info)) = (self.path(&node), self.describe(*id)) else { continue };
            let kind = info.shape.kind();
            out.entry(path).and_modify(|known| known.merge(&kind)).or_insert(kind);
        }
        out
    }
}

impl Shape {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Enum { variants, .. } => {
                // An enum whose tags are not all given stores them in a niche or not at all, and rustc does that
                // only where discriminants are the variants' indices (one unit variant apart, see `check`).
                let direct = variants.iter().all(|variant| variant.tag.is_some());
                let one = |(index, variant): (usize, &VariantInfo)| VariantName {
                    name: variant.name.clone(),
                    discriminant: match &variant.tag {
                        Some(tag) if direct => tag.text.clone(),
                        _ => index.to_string(),
                    },
                };
                Kind::Enum(variants.iter().enumerate().map(one).collect())
            }
            _ => Kind::Plain,
        }
    }
}

impl Kind {
    pub fn merge(&mut self, other: &Self) {
        if self != other {
            *self = Self::Contradictory;
        }
    }
}

impl<'a> Node<'a> {
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    pub fn reference(&self, key: &str) -> Option<u32> {
        self.text(key)?.strip_prefix('!')?.parse().ok()
    }

    /// A number of bits as bytes; rustc leaves zeros out.
    pub fn bytes(&self, key: &str) -> Option<u64> {
        let bits: u64 = self.text(key).map_or(Some(0), |text| text.parse().ok())?;
        (bits % 8 == 0).then_some(bits / 8)
    }
}

fn signed(base: Option<&Node<'_>>) -> bool {
    base.and_then(|node| node.text("encoding")).is_some_and(|encoding| encoding.contains("DW_ATE_signed"))
}

/// LLVM prints integers by its own choice of sign; the tag's type decides.
fn interpret(text: &str, bits: u64, is_signed: bool) -> Option<Tag> {
    let raw = match text.parse::<i128>() {
        Ok(value) => value as u128,
        Err(_) => text.parse::<u128>().ok()?,
    };
    let unused = 128 - u32::try_from(bits).ok().filter(|bits| (1..=128).contains(bits))?;
    let raised = raw << unused;
    let bits = raised >> unused;
    let text = if is_signed { (raised as i128 >> unused).to_string() } else { bits.to_string() };
    Some(Tag { bits, text })
}

/// `key: value, key: value` with strings and parentheses respected.
fn split_fields(text: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let mut open = 0usize;
    let bytes = text.as_bytes();
    for at in 0..=bytes.len() {
        let c = bytes.get(at).copied();
        match c {
            Some(b'"') => quoted = !quoted,
            Some(b'(' | b'{') if !quoted => open += 1,
            Some(b')' | b'}') if !quoted => open = open.saturating_sub(1),
            Some(b',') | None if !quoted && open == 0 => {
                if let Some((key, value)) = text[start..at].trim_start().split_once(": ") {
                    out.push((key, value));
                }
                start = (at + 1).min(text.len());
            }
            _ => {}
        }
    }
    out
}

/// A string without its quotes; LLVM writes other bytes than printable ones as `\41`.
fn unquote(text: &str) -> String {
    let inner = text.trim_matches('"');
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut out = Vec::new();
    let bytes = inner.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = inner.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, escaped) {
            (b'\\', Some(value)) => {
                out.push(value);
                at += 3;
            }
            (byte, _) => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn without_arguments(name: &str) -> String {
    name.split('<').next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
!5 = distinct !DISubprogram(name: "__q0", linkageName: "__q0", scope: !10, type: !71)
!10 = !DINamespace(name: "option", scope: !11)
!11 = !DINamespace(name: "core", scope: null)
!71 = !DISubroutineType(types: !72)
!72 = !{null, !73}
!73 = !DIDerivedType(tag: DW_TAG_pointer_type, name: "*const X", baseType: !74, size: 64, align: 64)
!74 = !DICompositeType(tag: DW_TAG_structure_type, name: "Option<(u8, u8)>", scope: !10, size: 16, align: 8, elements: !75)
!75 = !{!76}
!76 = !DICompositeType(tag: DW_TAG_variant_part, scope: !74, size: 16, align: 8, elements: !77, discriminator: !80)
!77 = !{!78, !79}
!78 = !DIDerivedType(tag: DW_TAG_member, name: "None", scope: !76, baseType: !81, size: 16, align: 8, extraData: i8 -6)
!79 = !DIDerivedType(tag: DW_TAG_member, name: "Some", scope: !76, baseType: !82, size: 16, align: 8)
!80 = !DIDerivedType(tag: DW_TAG_member, scope: !74, baseType: !90, size: 8, align: 8, offset: 8)
!81 = !DICompositeType(tag: DW_TAG_structure_type, name: "None", scope: !74, size: 16, align: 8, elements: !83)
!82 = !DICompositeType(tag: DW_TAG_structure_type, name: "Some", scope: !74, size: 16, align: 8, elements: !84)
!83 = !{}
!84 = !{!85}
!85 = !DIDerivedType(tag: DW_TAG_member, name: "__0", scope: !82, baseType: !90, size: 8, align: 8, offset: 8)
!90 = !DIBasicType(name: "u8", size: 8, encoding: DW_ATE_unsigned)
!91 = !DICompositeType(tag: DW_TAG_enumeration_type, name: "Neg", scope: !11, baseType: !93, size: 16, align: 16, elements: !92)
!92 = !{!94, !95}
!93 = !DIBasicType(name: "i16", size: 16, encoding: DW_ATE_signed)
!94 = !DIEnumerator(name: "A", value: -3)
!95 = !DIEnumerator(name: "r\23\22", value: 5)
"#;

    #[test]
    fn describes_enums() {
        let metadata = Metadata::of(TEXT);
        let id = metadata.pointee_of_first_parameter("__q0").unwrap();
        let info = metadata.describe(id).unwrap();
        assert_eq!((info.size, info.align), (2, Some(1)));
        let Shape::Enum { tag, variants } = info.shape else { panic!() };
        assert_eq!(tag, Some((1, 1)));
        let tag = Tag { bits: 250, text: "250".into() };
        assert_eq!(variants[0], VariantInfo { name: "None".into(), tag: Some(tag), offsets: Some(vec![]) });
        assert_eq!(variants[1], VariantInfo { name: "Some".into(), tag: None, offsets: Some(vec![1]) });
    }

    #[test]
    fn finds_definitions_by_path() {
        let definitions = Metadata::of(TEXT).definitions();
        assert_eq!(definitions.keys().collect::<Vec<_>>(), ["core::Neg", "core::option::Option"]);
        let name = |name: &str, value: &str| VariantName { name: name.into(), discriminant: value.into() };
        assert_eq!(definitions["core::Neg"], Kind::Enum(vec![name("A", "-3"), name("r#\"", "5")]));
        // The niche's values are no discriminants.
        assert_eq!(definitions["core::option::Option"], Kind::Enum(vec![name("None", "0"), name("Some", "1")]));
    }

    #[test]
    fn integers_follow_the_tags_sign() {
        let text = |value, bits, signed| interpret(value, bits, signed).map(|tag| tag.text);
        assert_eq!(text("-6", 8, false).unwrap(), "250");
        assert_eq!(text("250", 8, true).unwrap(), "-6");
        let max = u128::MAX.to_string();
        assert_eq!(text(&max, 128, false).unwrap(), max);
        assert_eq!(text("-1", 128, true).unwrap(), "-1");
        assert_eq!(text("1", 0, false), None);
    }
}
