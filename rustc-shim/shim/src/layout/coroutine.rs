//! Layouts of coroutines, which have no name that rustc could be asked about.
//!
//! The unit's own compilation to code says two things of each one.  `-Zprint-type-sizes` has it under the text of the
//! MIR, with the size, the alignment and, for each state, what lies where, by offset.  Debug information has it under
//! a name of its own, with the saved locals of each state in the order of their fields.  A layout is what both agree on.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::fail::{Failure, Result};
use crate::layout::debuginfo::{Kind, Metadata, Node};
use crate::layout::ty::Ty;
use crate::layout::ty_text;
use crate::wire::{BackendRepr, FieldsShape, LayoutData, ScalarLayout, TagEncoding, VariantName, Variants};

/// Layouts by rustc's text of the type, or why one is not known.
pub type Layouts = BTreeMap<String, std::result::Result<LayoutData, String>>;

/// Something in a state: its name where the source gives it one, its offset and size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    name: Option<String>,
    offset: u64,
    size: u64,
}

/// What a state holds beside what the coroutine captured.
#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    captured: Vec<Member>,
    saved: Vec<Member>,
}

/// What `-Zprint-type-sizes` says of one type; the states by their names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Printed {
    size: u64,
    align: u64,
    tag_size: u64,
    states: BTreeMap<String, State>,
}

/// A member as debug information has it.  LLVM keeps one node for all members of one name in one structure: of those
/// behind the first only the name is right.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    member: Member,
    is_first: bool,
}

/// What debug information says of one type; the states in the order of their tags.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Described {
    size: u64,
    align: u64,
    tag: (u64, u64),
    states: Vec<(String, Vec<Known>)>,
}

/// Whether rustc's text of a type names a coroutine.
pub fn in_text(text: &str) -> bool {
    text.contains(" resume_ty=")
}

/// The layouts of all coroutines that a compilation knows, by what it printed and by its module's text.
pub fn layouts(sizes: &str, module: &str) -> Result<Layouts> {
    let printed = printed(sizes)?;
    if printed.is_empty() {
        return Ok(Layouts::new());
    }
    let metadata = Metadata::of(module);
    let mut described: HashMap<usize, Vec<(String, Described)>> = HashMap::new();
    for (id, number) in metadata.structures().filter_map(|(id, name)| Some((id, environment(name)?))) {
        let Some(node) = metadata.node(id) else { continue };
        let around = node.reference("scope").and_then(|id| metadata.node(id));
        let around = around.and_then(|scope| scope.text("name").map(|name| name.trim_matches('"').to_owned()));
        if let Some(shape) = described_by(&metadata, &node) {
            described.entry(number).or_default().push((around.unwrap_or_default(), shape));
        }
    }
    let one = |(text, printed): (String, Option<Printed>)| {
        let layout = printed.ok_or_else(|| "several coroutines have this text".to_owned());
        let layout = layout.and_then(|printed| agreed(&text, &printed, &described));
        (text, layout)
    };
    Ok(printed.into_iter().map(one).collect())
}

/// The states of a coroutine as an enum's variants: the discriminant is the number.
pub fn states(layout: &LayoutData) -> Kind {
    let count = match &layout.variants {
        Variants::Multiple { variants, .. } => variants.len(),
        _ => 0,
    };
    let name = |index: usize| match index {
        0 => "Unresumed".to_owned(),
        1 => "Returned".to_owned(),
        2 => "Panicked".to_owned(),
        _ => format!("Suspend{}", index - 3),
    };
    Kind::Enum((0..count).map(|index| VariantName { name: name(index), discriminant: index.to_string() }).collect())
}

/// The number of a coroutine in its function, by the name that debug information has for it:
/// `{coroutine_env#0}`, `{async_fn_env#0}<u8>`, `{async_block_env#2}`.
fn environment(name: &str) -> Option<usize> {
    let (kind, rest) = name.strip_prefix('{')?.split_once("_env#")?;
    let known = [
        "coroutine",
        "async_fn",
        "async_block",
        "async_closure",
        "gen_fn",
        "gen_block",
        "gen_closure",
        "async_gen_fn",
        "async_gen_block",
        "async_gen_closure",
    ];
    known.contains(&kind).then(|| rest.split_once('}')?.0.parse().ok())?
}

// ---- what is printed --------------------------------------------------------------------------------------------

/// By text; `None` where types of the same text differ.
fn printed(text: &str) -> Result<BTreeMap<String, Option<Printed>>> {
    let mut out: BTreeMap<String, Option<Printed>> = BTreeMap::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let Some(head) = line.strip_prefix("print-type-size type: `{").filter(|head| in_text(head)) else { continue };
        let unknown = |number: usize, line: &str| Failure::text("-Zprint-type-sizes", number + 1, line);
        let (name, numbers) = head.rsplit_once("`: ").ok_or_else(|| unknown(number, line))?;
        let mut one = Printed::default();
        (one.size, one.align) = numbers
            .strip_suffix(" bytes")
            .and_then(|numbers| numbers.split_once(" bytes, alignment: "))
            .and_then(|(size, align)| Some((size.parse().ok()?, align.parse().ok()?)))
            .ok_or_else(|| unknown(number, line))?;
        let mut state = None;
        let mut next = 0;
        while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("print-type-size type: ")) {
            let Some(inside) = line.strip_prefix("print-type-size     ") else { break };
            inner_line(inside.trim_start(), &mut one, &mut state, &mut next).ok_or_else(|| unknown(number, line))?;
        }
        let name = format!("{{{name}");
        match out.get_mut(&name) {
            Some(known) if known.as_ref() != Some(&one) => *known = None,
            Some(_) => {}
            None => {
                out.insert(name, Some(one));
            }
        }
    }
    Ok(out)
}

/// One line about a part; `next` is where the following member begins unless its line says otherwise.
fn inner_line(line: &str, one: &mut Printed, state: &mut Option<String>, next: &mut u64) -> Option<()> {
    let bytes = |text: &str| text.strip_suffix(" bytes")?.parse::<u64>().ok();
    let (what, rest) = line.split_once(' ')?;
    match what {
        "discriminant:" => one.tag_size = bytes(rest)?,
        "variant" => {
            let (name, _) = rest.strip_prefix('`')?.split_once("`: ")?;
            *next = one.tag_size;
            one.states.insert(name.to_owned(), State::default());
            *state = Some(name.to_owned());
        }
        "padding:" => *next += bytes(rest)?,
        "end" => {
            bytes(rest.strip_prefix("padding: ")?)?;
        }
        "upvar" | "local" => {
            let (name, rest) = rest.strip_prefix("`.")?.split_once("`: ")?;
            let mut numbers = rest.split(", type: ").next()?.split(", ");
            let size = bytes(numbers.next()?)?;
            let mut offset = *next;
            for number in numbers {
                match number.split_once(": ")? {
                    ("offset", value) => offset = bytes(value)?,
                    ("alignment", _) => {}
                    _ => return None,
                }
            }
            *next = offset + size;
            let name = (!name.starts_with('.')).then(|| name.to_owned());
            let state = one.states.get_mut(state.as_ref()?)?;
            let members = if what == "upvar" { &mut state.captured } else { &mut state.saved };
            members.push(Member { name, offset, size });
        }
        _ => return None,
    }
    Some(())
}

// ---- what is described ------------------------------------------------------------------------------------------

fn described_by(metadata: &Metadata<'_>, node: &Node<'_>) -> Option<Described> {
    let size = node.bytes("size")?;
    let align = node.text("align")?.parse::<u64>().ok()? / 8;
    let part = metadata.variant_part(node)?;
    let tag = metadata.node(part.reference("discriminator")?)?;
    let mut states = Vec::new();
    for (index, member) in metadata.children(&part).into_iter().enumerate() {
        // The tag is the state's number.
        let (_, value) = member.text("extraData")?.split_once(' ')?;
        let variant = metadata.node(member.reference("baseType")?)?;
        if value.parse::<i128>().ok()? != tag_bits(index, tag.bytes("size")?)? {
            return None;
        }
        let name = variant.text("name")?.trim_matches('"').to_owned();
        states.push((name, members(metadata, &variant)?));
    }
    Some(Described { size, align, tag: (tag.bytes("offset")?, tag.bytes("size")?), states })
}

/// A state's number as LLVM prints it: with the sign that its highest bit gives.
fn tag_bits(index: usize, bytes: u64) -> Option<i128> {
    let bits = u32::try_from(bytes).ok().filter(|bytes| *bytes <= 8)? * 8;
    let index = i128::try_from(index).ok().filter(|index| *index < 1 << bits)?;
    Some(if index >> (bits - 1) == 0 { index } else { index - (1 << bits) })
}

fn members(metadata: &Metadata<'_>, node: &Node<'_>) -> Option<Vec<Known>> {
    let mut seen = HashSet::new();
    let ids = metadata.list(node.reference("elements")?)?;
    let one = |id: Option<u32>| Some(Known { member: member_of(&metadata.node(id?)?)?, is_first: seen.insert(id) });
    ids.into_iter().map(one).collect()
}

fn member_of(node: &Node<'_>) -> Option<Member> {
    let name = node.text("name")?.trim_matches('"');
    let numbered = name.strip_prefix("__").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let name = (!numbered).then(|| name.to_owned());
    Some(Member { name, offset: node.bytes("offset")?, size: node.bytes("size")? })
}

// ---- both -------------------------------------------------------------------------------------------------------

fn agreed(
    text: &str,
    printed: &Printed,
    described: &HashMap<usize, Vec<(String, Described)>>,
) -> std::result::Result<LayoutData, String> {
    let Ty::Coroutine { path, upvars, .. } = ty_text::parse(text)? else {
        return Err("it is no coroutine".to_owned());
    };
    let (around, number) = place(&path).ok_or("its path is not understood")?;
    let here =
        described.get(&number).into_iter().flatten().filter(|(scope, _)| around.is_none_or(|name| name == scope));
    let mut fitting = here.filter_map(|(_, shape)| layout(shape, printed, upvars));
    let first = fitting.next().ok_or("no debug information describes it")?;
    if fitting.any(|other| other != first) {
        return Err("several coroutines in debug information may be this one".to_owned());
    }
    Ok(first)
}

/// The name of the function around a coroutine, where it is a plain one, and its number there.
fn place(path: &str) -> Option<(Option<&str>, usize)> {
    let (around, last) = path.rsplit_once("::{closure#")?;
    let number = last.strip_suffix('}')?.parse().ok()?;
    let mut head = around;
    if head.ends_with('>') {
        let mut open = 0usize;
        let at = head.char_indices().rev().find(|(at, c)| {
            match c {
                '>' if !head[..*at].ends_with('-') => open += 1,
                '<' => open -= 1,
                _ => {}
            }
            open == 0
        })?;
        head = head[..at.0].trim_end_matches("::");
    }
    let name = head.rsplit("::").next().unwrap_or(head);
    let plain = !name.is_empty() && name.bytes().all(crate::lex::is_ident_byte);
    Some((plain.then_some(name), number))
}

/// The layout that both sources describe; `None` where they do not describe one.
fn layout(described: &Described, printed: &Printed, upvars: usize) -> Option<LayoutData> {
    let (tag_offset, tag_size) = described.tag;
    let whole = (described.size, described.align, tag_size) == (printed.size, printed.align, printed.tag_size);
    if !whole || described.states.len() != printed.states.len() {
        return None;
    }
    let (first, captured) = described.states.first()?;
    let start = printed.states.get(first)?;
    if captured.len() != upvars || !start.saved.is_empty() {
        return None;
    }
    let mut outer = offsets(captured, &start.captured)?;
    outer.push(tag_offset);
    let data = |offsets: Vec<u64>, variants: Variants| LayoutData {
        size: described.size,
        align: described.align,
        backend_repr: BackendRepr::Memory { sized: true },
        fields: FieldsShape::Arbitrary { offsets },
        variants,
        uninhabited: false,
    };
    let mut variants = Vec::new();
    for (index, (name, members)) in described.states.iter().enumerate() {
        let state = printed.states.get(name).filter(|state| state.captured == start.captured)?;
        let saved = members.get(..members.len().checked_sub(upvars)?)?;
        variants.push(data(offsets(saved, &state.saved)?, Variants::Single { index: u32::try_from(index).ok()? }));
    }
    let tag = ScalarLayout {
        primitive: format!("i{}", tag_size * 8),
        signed: false,
        initialized: true,
        valid_start: "0x0".to_owned(),
        valid_end: format!("{:#x}", variants.len() - 1),
    };
    let tag_field = u32::try_from(upvars).ok()?;
    Some(data(outer, Variants::Multiple { tag, tag_encoding: TagEncoding::Direct, tag_field, variants }))
}

/// Where the members lie that debug information has in the order of their fields.
fn offsets(known: &[Known], printed: &[Member]) -> Option<Vec<u64>> {
    let mut left = printed.to_vec();
    let mut out = Vec::new();
    for one in known.iter().filter(|one| one.is_first) {
        left.remove(left.iter().position(|member| *member == one.member)?);
    }
    for one in known {
        if one.is_first {
            out.push(one.member.offset);
            continue;
        }
        // The only other one of this name.
        let mut others = left.iter().filter(|member| member.name == one.member.name);
        let (Some(other), None) = (others.next(), others.next()) else { return None };
        out.push(other.offset);
    }
    (known.len() == printed.len()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "{static f::{closure#0} upvar_tys=(u32,) resume_ty=() yield_ty=() return_ty=u32}";

    /// `a` at 4 and a nameless local at 8 while suspended, the capture at 0, the tag at 12.
    const SIZES: &str = "print-type-size     field `.0`: 4 bytes\n\
        print-type-size type: `TYPE`: 16 bytes, alignment: 4 bytes\n\
        print-type-size     discriminant: 1 bytes\n\
        print-type-size     variant `Suspend0`: 12 bytes\n\
        print-type-size         upvar `.x`: 4 bytes, offset: 0 bytes, alignment: 4 bytes\n\
        print-type-size         local `.a`: 4 bytes, type: dep::{closure#0}, B\n\
        print-type-size         local `..coroutine_field1`: 1 bytes\n\
        print-type-size     variant `Unresumed`: 4 bytes\n\
        print-type-size         upvar `.x`: 4 bytes, offset: 0 bytes, alignment: 4 bytes\n\
        print-type-size     variant `Returned`: 4 bytes\n\
        print-type-size         upvar `.x`: 4 bytes, offset: 0 bytes, alignment: 4 bytes\n\
        print-type-size     variant `Panicked`: 4 bytes\n\
        print-type-size         upvar `.x`: 4 bytes, offset: 0 bytes, alignment: 4 bytes\n\
        print-type-size     end padding: 3 bytes\n\
        print-type-size type: `other`: 4 bytes, alignment: 4 bytes\n";

    const STATES: [&str; 4] = ["Unresumed", "Returned", "Panicked", "Suspend0"];

    fn sizes() -> String {
        SIZES.replace("TYPE", TYPE)
    }

    /// A module that describes a coroutine of the function `around`; `saved` are the nodes of its saved locals.
    fn module(around: &str, saved: &str) -> String {
        let mut text = format!(
            "!9 = !DINamespace(name: \"{around}\", scope: null)\n\
             !10 = !DICompositeType(tag: DW_TAG_structure_type, name: \"{{coroutine_env#0}}<u8>\", scope: !9, size: 128, \
             align: 32, elements: !11)\n!11 = !{{!12}}\n\
             !12 = !DICompositeType(tag: DW_TAG_variant_part, scope: !10, elements: !13, discriminator: !14)\n\
             !13 = !{{!20, !21, !22, !23}}\n\
             !14 = !DIDerivedType(tag: DW_TAG_member, name: \"__state\", size: 8, align: 8, offset: 96)\n\
             !40 = !DIDerivedType(tag: DW_TAG_member, name: \"x\", size: 32, align: 32)\n\
             !41 = !DIDerivedType(tag: DW_TAG_member, name: \"a\", size: 32, align: 32, offset: 32)\n\
             !42 = !DIDerivedType(tag: DW_TAG_member, name: \"__1\", size: 8, align: 8, offset: 64)\n\
             !50 = !{{!40}}\n!51 = !{{{saved}!40}}\n"
        );
        for (index, name) in STATES.iter().enumerate() {
            let elements = if index == 3 { 51 } else { 50 };
            text.push_str(&format!(
                "!2{index} = !DIDerivedType(tag: DW_TAG_member, name: \"{index}\", baseType: !3{index}, extraData: i8 \
                 {index})\n!3{index} = !DICompositeType(tag: DW_TAG_structure_type, name: \"{name}\", scope: !10, size: \
                 128, align: 32, elements: !{elements})\n"
            ));
        }
        text
    }

    fn only(sizes: &str, module: &str) -> std::result::Result<LayoutData, String> {
        layouts(sizes, module).unwrap().remove(TYPE).unwrap()
    }

    #[test]
    fn fields_are_in_the_order_of_debug_information() {
        for (saved, expected) in [("!41, !42, ", vec![4, 8]), ("!42, !41, ", vec![8, 4])] {
            let layout = only(&sizes(), &module("f", saved)).unwrap();
            assert_eq!((layout.size, layout.align), (16, 4));
            assert_eq!(layout.fields, FieldsShape::Arbitrary { offsets: vec![0, 12] });
            let Variants::Multiple { tag, tag_field: 1, variants, .. } = &layout.variants else { panic!() };
            assert_eq!((tag.primitive.as_str(), tag.valid_end.as_str()), ("i8", "0x3"));
            assert_eq!(variants[0].fields, FieldsShape::Arbitrary { offsets: vec![] });
            assert_eq!(variants[3].fields, FieldsShape::Arbitrary { offsets: expected });
            let Kind::Enum(names) = states(&layout) else { panic!() };
            assert_eq!(names[3], VariantName { name: "Suspend0".into(), discriminant: "3".into() });
        }
    }

    #[test]
    fn what_the_sources_do_not_agree_on_is_not_known() {
        let unknown = |sizes: &str, module: &str| only(sizes, module).unwrap_err();
        let right = module("f", "!41, !42, ");
        assert!(unknown(&sizes(), &module("g", "!41, !42, ")).contains("no debug information"));
        assert!(unknown(&sizes(), &module("f", "!41, ")).contains("no debug information"));
        assert!(unknown(&sizes().replace("16 bytes", "20 bytes"), &right).contains("no debug information"));
        assert!(unknown(&sizes().replace(".a`", ".b`"), &right).contains("no debug information"));
        assert!(unknown(&sizes().replace("discriminant: 1", "discriminant: 2"), &right).contains("no debug"));
        // The same parts in another order, under numbers of their own.
        let other = module("f", "!42, !41, ").replace('!', "!1").replace("!1DI", "!DI").replace("!1{", "!{");
        assert!(unknown(&sizes(), &format!("{right}{other}")).contains("several coroutines"));
        let twice = format!("{}{}", sizes(), sizes().replace("16 bytes", "20 bytes"));
        assert!(unknown(&twice, &right).contains("several coroutines have this text"));
        assert!(only(&format!("{}{}", sizes(), sizes()), &right).is_ok());
        let strange = sizes().replace("end padding", "middle");
        assert_eq!(layouts(&strange, &right).unwrap_err().code, crate::fail::TEXT);
    }

    #[test]
    fn a_coroutine_is_in_the_function_that_its_path_ends_with() {
        assert_eq!(place("a::f<T>::{closure#2}"), Some((Some("f"), 2)));
        assert_eq!(place("f::<fn(u8) -> A<u8>>::{closure#0}"), Some((Some("f"), 0)));
        assert_eq!(place("<S as T>::f::{closure#1}"), Some((Some("f"), 1)));
        assert_eq!(place("a::{closure#3}::{closure#0}"), Some((None, 0)));
        assert_eq!(place("a::f"), None);
        assert_eq!(environment("{async_fn_env#3}<u8>"), Some(3));
        assert_eq!(environment("{closure_env#3}"), None);
        assert_eq!((tag_bits(3, 1), tag_bits(200, 1), tag_bits(300, 1)), (Some(3), Some(-56), None));
    }
}
