//! Layouts of the corpus's types and of awkward ones, on every compiler that is there.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::{json, Value};
use support::{rustcs, Recorded};

fn corpus() -> Option<PathBuf> {
    let dir = std::env::var_os("MIRGEN_CORPUS").map(PathBuf::from);
    let dir = dir.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")));
    let sources = dir.join("src");
    if !sources.is_dir() {
        eprintln!("skipped: no corpus at {}; set MIRGEN_CORPUS", dir.display());
        return None;
    }
    Some(sources)
}

fn find<'a>(document: &'a Value, ty: &str) -> &'a Value {
    let layouts = document["layouts"].as_array().unwrap();
    let found = layouts.iter().find(|layout| layout["ty"] == ty);
    found.unwrap_or_else(|| panic!("no layout of {ty}; failures: {}", document["failures"]))
}

fn names(layout: &Value) -> Vec<(&str, &str)> {
    let names = layout["variant_names"].as_array().expect("an enum");
    names.iter().map(|v| (v["name"].as_str().unwrap(), v["discriminant"].as_str().unwrap())).collect()
}

/// Types of generic bodies, which have no layout: parameters, and what is made of them.
fn is_generic(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.into_iter().any(|word| matches!(word, "F" | "T" | "Self"))
}

#[test]
fn every_type_of_the_corpus_has_a_layout() {
    let Some(sources) = corpus() else { return };
    for rustc in rustcs() {
        for (name, at_least) in [("layouts", 60), ("language", 110), ("iterators", 450), ("closures", 60)] {
            let recorded = Recorded::new(&rustc, &sources.join(format!("{name}.rs")), name);
            let dump = recorded.dump();
            let document = recorded.layouts(dump["types"].as_array().unwrap());
            let failures = document["failures"].as_array().unwrap();
            let unexpected: Vec<&Value> =
                failures.iter().filter(|failure| !is_generic(failure["ty"].as_str().unwrap())).collect();
            assert!(unexpected.is_empty(), "{rustc} {name}: {unexpected:#?}");
            let layouts = document["layouts"].as_array().unwrap();
            assert!(layouts.len() >= at_least, "{rustc} {name}: only {} layouts", layouts.len());
            let checked = layouts.iter().filter(|layout| !layout["checked_by"].as_array().unwrap().is_empty()).count();
            assert!(checked * 3 >= layouts.len(), "{rustc} {name}: only {checked} of {} checked", layouts.len());
            for layout in layouts {
                let several = layout["layout"]["variants"]["kind"] == "multiple";
                assert!(!several || layout["variant_names"].is_array(), "{rustc}: {layout}");
            }
        }
    }
}

#[test]
fn known_layouts_of_the_corpus() {
    let Some(sources) = corpus() else { return };
    for rustc in rustcs() {
        let recorded = Recorded::new(&rustc, &sources.join("layouts.rs"), "layouts");
        let document = recorded.layouts_of(&["A16", "Pk", "W", "Reordered", "Neg", "Multi", "Big", "Nest"]);
        let layout = |ty: &str| find(&document, ty)["layout"].clone();
        assert_eq!((&layout("A16")["size"], &layout("A16")["align"]), (&json!(16), &json!(16)));
        assert_eq!(layout("Pk")["fields"], json!({"kind": "arbitrary", "offsets": [0, 2, 10]}));
        assert_eq!(layout("W")["backend_repr"]["value"]["primitive"], "f64");
        assert_eq!(layout("Reordered")["size"], 16);
        assert_eq!(names(find(&document, "Neg")), [("M", "-5"), ("Z", "0"), ("P", "300")]);
        assert_eq!(names(find(&document, "Multi")), [("A", "0"), ("B", "1"), ("C", "2")]);
        assert_eq!(layout("Multi")["variants"]["tag_encoding"]["kind"], "direct");
        let nest = layout("Nest");
        assert_eq!((&nest["size"], &nest["variants"]["tag_encoding"]["kind"]), (&json!(1), &json!("niche")));
        assert_eq!(layout("Big")["align"], 16);
    }
}

const AWKWARD: &str = r#"
#![allow(dead_code)]
mod hidden {
    pub(super) enum Priv { A(u8), B { x: u32 }, C }
    pub(super) enum One { Only = 7 }
    pub(super) enum Deep { P = -3, Q = 4 }
    pub(super) struct Plain { pub(super) a: u8, pub(super) b: Option<u32> }
    pub(super) struct Held(pub(super) Box<u8>);
}
pub enum Void {}
pub enum OnePub { Only = -7 }
pub enum Half { A(Void), B(u32), C(Void) }
#[repr(u8)] pub enum U8 { A = 200, B(u32) = 7 }
#[repr(i128)] pub enum I128 { A = i128::MIN, B = 5 }
#[repr(u128)] pub enum U128 { A = u128::MAX, B = 0 }
pub union Un { a: u32, b: [u8; 7] }
pub struct Cg<const N: usize, const B: bool, const C: char, const I: i8>([u8; N]);
pub struct Pair<T>(T, u8);
pub trait Tr { type Out; fn f(&self) -> u32; }
impl Tr for u8 { type Out = [u16; 3]; fn f(&self) -> u32 { 1 } }
pub fn use_them(k: u32) -> u32 {
    use hidden::*;
    let p = if k == 1 { Priv::A(3) } else if k == 2 { Priv::B { x: 2 } } else { Priv::C };
    let d = if k == 3 { Deep::P } else { Deep::Q };
    let one = std::hint::black_box(One::Only);
    std::hint::black_box((p, d, one, Plain { a: 1, b: Some(k) }));
    let c = move |x: &u32| *x + k;
    [1u32].iter().map(c).sum()
}
"#;

#[test]
fn awkward_types() {
    for rustc in rustcs() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("awkward.rs");
        fs::write(&source, AWKWARD).unwrap();
        let recorded = Recorded::new(&rustc, &source, "awkward");
        let closure = "{use_them::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=for<Region(BrAnon)> extern \
                       \"rust-call\" fn((&'^0 u32,)) -> u32 upvar_tys=(u32,)}";
        let map = format!("std::iter::Map<std::slice::Iter<'{{erased}}, u32>, {closure}>");
        let peekable = format!("std::iter::Peekable<{map}>");
        let cg = "Cg<ValTree(Leaf(0x0000000000000003): usize), ValTree(Leaf(0x01): bool), \
                  ValTree(Leaf(0x00000078): char), ValTree(Leaf(0xfb): i8)>";
        let hr = "for<Region(BrNamed(DefId(0:1 ~ a[1]::'_)))> fn(&'^0.Named(DefId(0:1 ~ a[1]::'_)) u8) -> \
                  &'^0.Named(DefId(0:1 ~ a[1]::'_)) u8";
        let nested = format!("Pair<{hr}>");
        let dynamic = "std::iter::Peekable<std::boxed::Box<(dyn std::iter::Iterator<Item = u32> + '{erased})>>";
        let function = "fn(u32) -> u32 {helper}";
        let document = recorded.layouts_of(&[
            "Void",
            "OnePub",
            "Half",
            "U8",
            "I128",
            "U128",
            "Un",
            cg,
            &map,
            &peekable,
            &nested,
            dynamic,
            function,
            "hidden::Priv",
            "hidden::One",
            "hidden::Deep",
            "hidden::Plain",
            "hidden::Held",
            "std::option::Option<hidden::Held>",
            "std::option::Option<hidden::Priv>",
            "<u8 as Tr>::Out",
            "&'{erased} (dyn Tr<Out = u8> + '{erased})",
            "f32",
            "!",
            "str",
            // These have no layout, each for a reason of its own.
            "no::Such",
            "Pair<no::Such>",
            "std::iter::Peekable<u8>",
            "{static a::{closure#0} upvar_tys=() resume_ty=() yield_ty=() return_ty=()}",
        ]);
        let layout = |ty: &str| find(&document, ty)["layout"].clone();
        assert_eq!(names(find(&document, "OnePub")), [("Only", "-7")]);
        assert_eq!(names(find(&document, "hidden::One")), [("Only", "7")]);
        assert_eq!(names(find(&document, "Half")), [("A", "0"), ("B", "1"), ("C", "2")]);
        assert_eq!(layout("Half")["variants"], json!({"kind": "single", "index": 1}));
        assert_eq!(names(find(&document, "U8")), [("A", "200"), ("B", "7")]);
        let min = i128::MIN.to_string();
        assert_eq!(names(find(&document, "I128")), [("A", min.as_str()), ("B", "5")]);
        let max = u128::MAX.to_string();
        assert_eq!(names(find(&document, "U128")), [("A", max.as_str()), ("B", "0")]);
        assert_eq!(names(find(&document, "hidden::Priv")), [("A", "0"), ("B", "1"), ("C", "2")]);
        assert_eq!(names(find(&document, "hidden::Deep")), [("P", "-3"), ("Q", "4")]);
        assert_eq!(names(find(&document, "std::option::Option<hidden::Priv>")), [("None", "0"), ("Some", "1")]);
        assert_eq!(find(&document, "hidden::Plain")["variant_names"], Value::Null);
        assert_eq!(layout("Un")["fields"], json!({"kind": "union", "count": 2}));
        assert_eq!(layout(cg)["size"], 3);
        assert_eq!(layout(&map)["size"], 24);
        assert_eq!(find(&document, &map)["checked_by"], json!(["debuginfo", "print-type-sizes"]));
        assert_eq!(layout(&peekable)["size"], 32);
        assert_eq!(layout(&nested)["size"], 16);
        assert_eq!(layout(dynamic)["size"], 24);
        assert_eq!(layout(function)["size"], 0);
        assert_eq!(layout("<u8 as Tr>::Out")["fields"], json!({"kind": "array", "stride": 2, "count": 3}));
        assert_eq!(layout("Void")["uninhabited"], true);
        assert_eq!(layout("str")["backend_repr"], json!({"kind": "memory", "sized": false}));
        let needs_drop = |ty: &str| find(&document, ty)["needs_drop"].as_bool().unwrap();
        for ty in ["hidden::Priv", "Un", map.as_str(), peekable.as_str(), function, "str", "!", "Void"] {
            assert!(!needs_drop(ty), "{ty}");
        }
        assert!(!needs_drop("&'{erased} (dyn Tr<Out = u8> + '{erased})"));
        assert!(needs_drop(dynamic) && needs_drop("hidden::Held") && needs_drop("std::option::Option<hidden::Held>"));
        let failures = document["failures"].as_array().unwrap();
        let reason = |ty: &str| {
            let failure = failures.iter().find(|failure| failure["ty"].as_str().unwrap().starts_with(ty));
            failure.unwrap_or_else(|| panic!("{ty} has a layout"))["reason"].as_str().unwrap()
        };
        assert!(reason("no::Such").contains("E0433"), "{}", reason("no::Such"));
        assert!(reason("Pair<no").contains("E0433"));
        assert!(reason("std::iter::Peekable<u8>").contains("E0277"), "{}", reason("std::iter::Peekable<u8>"));
        assert!(reason("{static").contains("coroutine"));
        assert_eq!(failures.len(), 4);
    }
}

const BODIES: &str = r#"
#![allow(dead_code)]
use std::hint::black_box;
pub mod m {
    use std::hint::black_box;
    pub struct X(pub u8);
    pub trait T { fn t(&self) -> u32; fn d(&self) -> u32 { struct Def(u8, u32); black_box(&Def(1, 2)).1 } }
    impl X { pub fn inherent(&self) { enum L { A(u32), B } black_box(L::A(1)); black_box(L::B); } }
    impl T for X { fn t(&self) -> u32 { struct M { a: u8, b: u16 } black_box(&M { a: 1, b: 3 }).b as u32 } }
    impl T for u64 { fn t(&self) -> u32 { struct M { a: u64, b: u16 } black_box(&M { a: 1, b: 3 }).b as u32 } }
}
pub fn f(k: u32) -> u32 {
    #[repr(u8)] #[derive(Clone, Copy)] enum E { A = 3, B = 200 }
    struct G<T>(T, u8);
    struct Dropped(u8);
    impl Drop for Dropped { fn drop(&mut self) {} }
    black_box(&Dropped(1));
    let c = |x: u32| { struct InC(u32, u8); black_box(&InC(x, 1)).0 };
    let r = { struct Twice(u8); black_box(&Twice(1)).0 as u32 };
    let s = { struct Twice(u64, u8); black_box(&Twice(1, 1)).0 as u32 };
    black_box((G(k, 1), Some(E::A), if k == 0 { E::A } else { E::B }));
    let g = G(k, 7);
    c(1) + r + s + [1u32].iter().map(move |x| x + g.0 + g.1 as u32).sum::<u32>()
}
macro_rules! make { ($n:ident) => { pub fn $n() { struct Made(u16); black_box(&Made(2)); } } }
make!(made);
"#;

#[test]
fn types_inside_bodies() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    let source = dir.path().join("src/bodies.rs");
    // Sources that refer to their surroundings are copied with them.
    fs::write(dir.path().join("text"), "text").unwrap();
    fs::write(&source, format!("{BODIES}\npub const TEXT: &str = include_str!(\"../text\");\n")).unwrap();
    for rustc in rustcs() {
        let recorded = Recorded::new_in(&rustc, &source, "bodies", Some(dir.path()));
        let document = recorded.layouts_of(&[
            "f::E",
            "f::G<u32>",
            "f::Twice",
            "f::Twice#1",
            "f::{closure#0}::InC",
            "m::X::inherent::L",
            "m::T::d::Def",
            "<m::X as m::T>::t::M",
            "<u64 as m::T>::t::M",
            "std::option::Option<f::E>",
            "(f::G<u32>, [f::E; ValTree(Leaf(0x0000000000000003): usize)], m::X)",
            "fn(f::E) {f::g}",
            "u8",
            "f::Dropped",
            "(u8, f::Dropped)",
            "made::Made",
        ]);
        let needs_drop = |ty: &str| find(&document, ty)["needs_drop"].as_bool().unwrap();
        assert!(needs_drop("f::Dropped") && needs_drop("(u8, f::Dropped)"));
        assert!(!needs_drop("f::G<u32>") && !needs_drop("u8"));
        let size = |ty: &str| find(&document, ty)["layout"]["size"].as_u64().unwrap();
        assert_eq!(names(find(&document, "f::E")), [("A", "3"), ("B", "200")]);
        assert_eq!(names(find(&document, "m::X::inherent::L")), [("A", "0"), ("B", "1")]);
        assert_eq!((size("f::Twice"), size("f::Twice#1"), size("f::{closure#0}::InC")), (1, 16, 8));
        assert_eq!((size("<m::X as m::T>::t::M"), size("<u64 as m::T>::t::M")), (4, 16));
        assert_eq!((size("f::G<u32>"), size("m::T::d::Def")), (8, 8));
        assert_eq!(names(find(&document, "std::option::Option<f::E>")), [("None", "0"), ("Some", "1")]);
        assert_eq!(find(&document, "f::E")["checked_by"], json!(["print-type-sizes"]));
        let failures = document["failures"].as_array().unwrap();
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0]["reason"].as_str().unwrap().contains("a macro made it"), "{failures:?}");
    }
}

const REEXPORTS: &str = r#"
mod a {
    pub mod deep {
        pub enum G<T> { One(T), Two(u8), Three }
        pub enum Of<T> { Here(T), There(G<T>) }
        #[repr(u16)] pub enum Inner<T> { P(T) = 7, Q = 9 }
        pub struct S<T>(pub T);
    }
}
mod b { pub mod deep { pub enum G<T> { Uno(T), Due(u8), Tre } } }
pub use a::deep::{Inner as Outer, Of, G, S};
"#;

#[test]
fn private_paths_of_public_types_are_asked_for_by_what_rustc_calls_them() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("reexports.rs");
    fs::write(&source, REEXPORTS).unwrap();
    for rustc in rustcs() {
        let recorded = Recorded::new(&rustc, &source, "reexports");
        let document = recorded.layouts_of(&[
            "a::deep::G<u32>",
            "a::deep::Of<std::option::Option<a::deep::G<u8>>>",
            "a::deep::Inner<u32>",
            "a::deep::S<b::deep::G<u8>>",
            "b::deep::G<u32>",
        ]);
        let names = |ty: &str| names(find(&document, ty));
        let checked = |ty: &str| find(&document, ty)["checked_by"].as_array().unwrap().clone();
        assert_eq!(names("a::deep::G<u32>"), [("One", "0"), ("Two", "1"), ("Three", "2")]);
        let of = "a::deep::Of<std::option::Option<a::deep::G<u8>>>";
        assert_eq!(names(of), [("Here", "0"), ("There", "1")]);
        assert_eq!([checked("a::deep::G<u32>"), checked(of)], [(); 2].map(|()| [json!("debuginfo")]));
        // What holds something that has no public name is not compiled.
        assert_eq!(checked("a::deep::S<b::deep::G<u8>>"), Vec::<Value>::new());
        // Of another name rustc does not offer an item.
        let failures = document["failures"].as_array().unwrap();
        let no_names = failures.iter().filter(|failure| failure["reason"].as_str().unwrap().contains("no debug info"));
        let failing: Vec<&Value> = no_names.map(|failure| &failure["ty"]).collect();
        assert_eq!(failing, ["a::deep::Inner<u32>", "b::deep::G<u32>"]);
        assert_eq!(failures.len(), 2);
    }
}

#[test]
fn no_std_crates_are_asked_without_std() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("bare.rs");
    fs::write(&source, "#![no_std] pub struct S(pub core::cell::Cell<u16>); pub fn f(s: &S) -> u16 { s.0.get() }")
        .unwrap();
    for rustc in rustcs() {
        let recorded = Recorded::new(&rustc, &source, "bare");
        let document = recorded.layouts_of(&["S", "core::cell::Cell<u16>"]);
        assert_eq!(find(&document, "S")["layout"]["size"], 2);
        assert_eq!(find(&document, "core::cell::Cell<u16>")["layout"]["align"], 2);
    }
}

#[test]
fn options_for_mir_do_not_cost_the_second_opinion() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("inlining.rs");
    fs::write(&source, "pub enum E { A(u32), B }").unwrap();
    for rustc in rustcs() {
        let recorded = Recorded::new(&rustc, &source, "inlining");
        let mut unit = support::read_json(&recorded.unit);
        unit["args"].as_array_mut().unwrap().extend([json!("-Zinline-mir"), json!("-Copt-level=3")]);
        fs::write(&recorded.unit, unit.to_string()).unwrap();
        let document = recorded.layouts_of(&["E"]);
        assert_eq!(names(find(&document, "E")), [("A", "0"), ("B", "1")]);
        assert!(find(&document, "E")["checked_by"].as_array().unwrap().contains(&json!("debuginfo")));
    }
}
