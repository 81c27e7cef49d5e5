//! Single constructs of the text, right and wrong.

mod common;

use common::*;
use mirgen_rustc::parse::{parse_dump, Grammar, Selection};
use mirgen_rustc::wire::{
    Alloc, Borrow, Const, Operand, Place, Projection, Rvalue, StatementKind, TerminatorKind, Ty, UnwindAction,
};

fn rvalue(locals: &str, line: &str) -> Rvalue {
    match statement(locals, line).unwrap_or_else(|error| panic!("{line}: {error}")) {
        StatementKind::Assign { rvalue, .. } => rvalue,
        other => panic!("{line}: {other:?}"),
    }
}

fn place(text: &str) -> Place {
    let locals = "_1: u32; _2: (u32, u32); _3: usize; _4: [u32; N/#0]";
    match rvalue(locals, &format!("_1 = copy {text}")) {
        Rvalue::Use { operand: Operand::Copy { place } } => place,
        other => panic!("{text}: {other:?}"),
    }
}

fn type_of(text: &str) -> (mirgen_rustc::parse::Parsed, Ty) {
    let parsed = snippet(&function(&format!("_1: {text}"), "nop")).unwrap_or_else(|error| panic!("{text}: {error}"));
    let found = ty_called(&parsed, text).clone();
    (parsed, found)
}

fn terminator(line: &str) -> Result<TerminatorKind, String> {
    let locals = "    let mut _1: u32;\n    let mut _2: fn(u32) -> u32;\n";
    let text = format!("fn f() -> () {{\n    let mut _0: ();\n{locals}\n    bb0: {{\n        {line};\n    }}\n}}\n");
    let parsed = snippet(&text).map_err(|error| error.to_string())?;
    Ok(parsed.parts.bodies[0].blocks[0].terminator.kind.clone())
}

#[test]
fn places() {
    use Projection::*;
    let proj = |text: &str| place(text).proj;
    assert_eq!(proj("_1"), []);
    assert_eq!(proj("(*_1)"), [Deref]);
    let nested = proj("(((*(_2.1: &'{erased} u32)) as Some).0: u32)");
    assert!(
        matches!(&nested[..], [Field { index: 1, .. }, Deref, Downcast { variant: Some(v), index: None }, Field { index: 0, .. }] if v == "Some")
    );
    assert_eq!(proj("(_1 as variant#3)"), [Downcast { variant: None, index: Some(3) }]);
    assert_eq!(proj("(*_1)[_3]"), [Deref, Index { local: 3 }]);
    assert_eq!(proj("_4[1 of 2]"), [ConstantIndex { offset: 1, min_length: 2, from_end: false }]);
    assert_eq!(proj("_4[-1 of 2]"), [ConstantIndex { offset: 1, min_length: 2, from_end: true }]);
    assert_eq!(proj("_4[2:]"), [Subslice { from: 2, to: 0, from_end: true }]);
    assert_eq!(proj("_4[:-2]"), [Subslice { from: 0, to: 2, from_end: true }]);
    assert_eq!(proj("_4[1:-2]"), [Subslice { from: 1, to: 2, from_end: true }]);
    assert_eq!(proj("_4[1..3]"), [Subslice { from: 1, to: 3, from_end: false }]);
    assert!(matches!(proj("(_1 as core::option::Option<u32>)")[..], [OpaqueCast { .. }]));
    assert!(matches!(proj("unwrap_binder!(_1; &'{erased} u8)")[..], [UnwrapBinder { .. }]));
    let mixed = proj("((*(_2.0: &'{erased} [(u8, u32)]))[_3].1: u32)");
    assert!(matches!(mixed[..], [Field { index: 0, .. }, Deref, Index { local: 3 }, Field { index: 1, .. }]));
    for bad in ["(*_1", "_1)", "(_1.x: u32)", "_1[", "_1[-1]", "(_1 is Some)", "_", "_x"] {
        assert!(statement("_1: u32", &format!("_1 = copy {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn rvalues_of_every_kind() {
    let check = |locals: &str, line: &str, is: fn(&Rvalue) -> bool| {
        let found = rvalue(locals, line);
        assert!(is(&found), "{line}: {found:?}");
    };
    let l = "_1: u32; _2: &'{erased} u32; _3: (u32, bool); _4: [u32; ValTree(Leaf(0x0000000000000003): usize)]; \
             _5: core::option::Option<u32>; _6: S; _7: *const [u8]; _8: usize; _9: E<u32>; _10: bool";
    check(
        l,
        "_1 = const ConstValue(Scalar(0x00000007): u32)",
        |r| matches!(r, Rvalue::Use { operand: Operand::Const { value: Const::Scalar { bits, size: 4, .. } } } if bits == "0x00000007"),
    );
    check(
        l,
        "_1 = [const ConstValue(Scalar(0x07): u8); ValTree(Leaf(0x0000000000000010): usize)]",
        |r| matches!(r, Rvalue::Repeat { count: Some(n), .. } if n == "16"),
    );
    check(l, "_1 = [copy _1; N/#0]", |r| matches!(r, Rvalue::Repeat { count: None, .. }));
    check(l, "_4 = []", |r| matches!(r, Rvalue::Array { operands } if operands.is_empty()));
    check(l, "_4 = [copy _1, move _1]", |r| matches!(r, Rvalue::Array { operands } if operands.len() == 2));
    check(l, "_4 = [copy _1]", |r| matches!(r, Rvalue::Array { operands } if operands.len() == 1));
    check(l, "_0 = ()", |r| matches!(r, Rvalue::Tuple { operands } if operands.is_empty()));
    check(l, "_3 = (copy _1,)", |r| matches!(r, Rvalue::Tuple { operands } if operands.len() == 1));
    check(l, "_3 = (copy _1, move _10)", |r| matches!(r, Rvalue::Tuple { operands } if operands.len() == 2));
    check(l, "_2 = &'{erased} _1", |r| matches!(r, Rvalue::Ref { borrow: Borrow::Shared, .. }));
    check(l, "_2 = &'{erased} mut _1", |r| matches!(r, Rvalue::Ref { borrow: Borrow::Mut, .. }));
    check(l, "_2 = &'{erased} fake shallow _1", |r| matches!(r, Rvalue::Ref { borrow: Borrow::Fake, .. }));
    check(l, "_2 = &_1", |r| matches!(r, Rvalue::Ref { borrow: Borrow::Shared, .. }));
    check(l, "_2 = &raw const (*_2)", |r| matches!(r, Rvalue::RawPtr { mutable: false, .. }));
    check(l, "_2 = &raw const (fake) (*_2)", |r| matches!(r, Rvalue::RawPtr { mutable: false, .. }));
    check(l, "_2 = &raw mut _1", |r| matches!(r, Rvalue::RawPtr { mutable: true, .. }));
    check(l, "_2 = &/*tls*/ mut a::TLS", |r| matches!(r, Rvalue::ThreadLocalRef { path } if path == "a::TLS"));
    check(l, "_8 = copy _1 as usize (IntToInt)", |r| matches!(r, Rvalue::Cast { cast, .. } if cast == "IntToInt"));
    check(
        l,
        "_8 = ConstValue(ZeroSized: fn() {f}) as fn() (PointerCoercion(ReifyFnPointer(Safe), Implicit))",
        |r| matches!(r, Rvalue::Cast { cast, .. } if cast == "PointerCoercion(ReifyFnPointer(Safe), Implicit)"),
    );
    check(
        l,
        "_8 = a::f::<u32> as fn() -> u32 (PointerCoercion(ReifyFnPointer(Unsafe), AsCast))",
        |r| matches!(r, Rvalue::Cast { operand: Operand::Const { value: Const::Unevaluated { path, .. } }, .. } if path == "a::f::<u32>"),
    );
    check(l, "_8 = copy _2 as impl Fn(u32) -> u32 (Transmute)", |r| matches!(r, Rvalue::Cast { .. }));
    check(l, "_1 = ShlUnchecked(copy _1, move _8)", |r| matches!(r, Rvalue::Binary { op, .. } if op == "ShlUnchecked"));
    check(l, "_8 = PtrMetadata(copy _7)", |r| matches!(r, Rvalue::Unary { op, .. } if op == "PtrMetadata"));
    check(l, "_8 = discriminant((*_2))", |r| matches!(r, Rvalue::Discriminant { .. }));
    check(l, "_2 = deref_copy (_3.0: &'{erased} u32)", |r| matches!(r, Rvalue::CopyForDeref { .. }));
    check(
        l,
        "_5 = core::option::Option::<u32>::Some(copy _1)",
        |r| matches!(r, Rvalue::Adt { variant: Some(v), operands, .. } if v == "Some" && operands.len() == 1),
    );
    check(
        l,
        "_5 = core::option::Option::<u32>::None",
        |r| matches!(r, Rvalue::Adt { variant: Some(v), operands, .. } if v == "None" && operands.is_empty()),
    );
    check(
        l,
        "_6 = S { a: copy _1, b: const ConstValue(Scalar(0x01): bool) }",
        |r| matches!(r, Rvalue::Adt { variant: None, fields, .. } if fields == &["a", "b"]),
    );
    check(l, "_6 = S", |r| matches!(r, Rvalue::Adt { variant: None, .. }));
    check(
        l,
        "_9 = E::<u32>::A { x: copy _1 }",
        |r| matches!(r, Rvalue::Adt { variant: Some(v), fields, .. } if v == "A" && fields == &["x"]),
    );
    check(l, "_7 = *const [u8] from (copy _2, copy _8)", |r| matches!(r, Rvalue::RawPtrAggregate { .. }));
    check(l, "_2 = wrap_binder!(copy _1; unsafe<'a> &'a u8)", |r| matches!(r, Rvalue::WrapBinder { .. }));
    check(
        l,
        "_10 = UbChecks",
        |r| matches!(r, Rvalue::Use { operand: Operand::RuntimeChecks { check } } if check == "UbChecks"),
    );
}

#[test]
fn closures_by_location() {
    let ty = "{f::{closure#0} closure_kind_ty=i8 closure_sig_as_fn_ptr_ty=extern \"rust-call\" fn((u32,)) -> u32 \
              upvar_tys=(u32, u8)}";
    let locals = format!("_1: {ty}; _2: u32; _3: u8");
    let read = |line: &str| match rvalue(&locals, line) {
        Rvalue::Closure { location, operands, complete } => (location, operands.len(), complete),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        read("_1 = {closure@a } b{(c.rs:1:2: 3:4} { x: copy _2, y: copy _3 }"),
        ("a } b{(c.rs:1:2: 3:4".to_owned(), 2, true)
    );
    assert_eq!(read("_1 = {closure@f.rs:1:2: 3:4 (#7)} { x: copy _2 }"), ("f.rs:1:2: 3:4 (#7)".to_owned(), 1, false));
    assert_eq!(read("_1 = {closure@f::{closure#0}}"), ("f::{closure#0}".to_owned(), 0, false));
    assert!(statement(&locals, "_2 = {closure@f.rs:1:2: 3:4} { x: copy _2 }").is_err());
    assert!(statement(&locals, "_1 = {closure@f.rs:1:2: 3:4} { x: copy _2, y: copy _3, z: copy _3 }").is_err());
}

#[test]
fn types_of_every_kind() {
    let is = |text: &str, check: fn(&Ty) -> bool| {
        let (_, found) = type_of(text);
        assert!(check(&found), "{text}: {found:?}");
    };
    is("u128", |t| matches!(t, Ty::Int { .. }));
    is("f16", |t| matches!(t, Ty::Float { .. }));
    is("!", |t| matches!(t, Ty::Never { .. }));
    is("str", |t| matches!(t, Ty::Str { .. }));
    is("(u8,)", |t| matches!(t, Ty::Tuple { elems, .. } if elems.len() == 1));
    is("&'a/#0 mut [u8]", |t| matches!(t, Ty::Ref { mutable: true, .. }));
    is("*const *mut u8", |t| matches!(t, Ty::Ptr { mutable: false, .. }));
    is("[[u8; ValTree(Leaf(0x0000000000000002): usize)]; N/#1]", |t| matches!(t, Ty::Array { len: None, .. }));
    is(
        "[u8; ValTree(Leaf(0xffffffffffffffff): usize)]",
        |t| matches!(t, Ty::Array { len: Some(n), .. } if n == "18446744073709551615"),
    );
    is("[u8; UnevaluatedConst { def: DefId(0:1 ~ a[1]::f::{constant#0}), args: [T/#0] }]", |t| {
        matches!(t, Ty::Array { len: None, .. })
    });
    is(
        "a::B<'{erased}, u8, ValTree(Leaf(0x01): bool), (u8, a::C<u8>)>",
        |t| matches!(t, Ty::Adt { path, args, .. } if path == "a::B" && args.len() == 4),
    );
    is(
        "<X as a::T<u8>>::f::Inner<u8>",
        |t| matches!(t, Ty::Adt { path, args, .. } if path == "<X as a::T<u8>>::f::Inner" && args.len() == 1),
    );
    is("a::<impl a::B<u8>>::f::Inner", |t| matches!(t, Ty::Adt { path, .. } if path == "a::<impl a::B<u8>>::f::Inner"));
    is("f::{closure#0}::r#type#1", |t| matches!(t, Ty::Adt { path, .. } if path == "f::{closure#0}::r#type#1"));
    is("<T as a::Tr>::Out<'{erased}>", |t| matches!(t, Ty::Alias { .. }));
    is("<T as a::Tr>::f::{anon_assoc#0}", |t| matches!(t, Ty::Alias { .. }));
    is("Opaque(DefId(0:5 ~ a[1]::f::{opaque#0}), [u8])", |t| matches!(t, Ty::Alias { .. }));
    is("(dyn for<Region(BrAnon)> core::ops::Fn<(&'^0 u8,), Output = ()> + core::marker::Send + '{erased})", |t| {
        matches!(t, Ty::Dynamic { .. })
    });
    is("(u32) is ValTree(Leaf(0x00000001): u32)..=ValTree(Leaf(0xffffffff): u32)", |t| matches!(t, Ty::Pattern { .. }));
    is("(*const u8) is !null", |t| matches!(t, Ty::Pattern { .. }));
    is("(u8) is (ValTree(Leaf(0x00): u8)..=ValTree(Leaf(0x01): u8) | ValTree(Leaf(0x05): u8)..)", |t| {
        matches!(t, Ty::Pattern { .. })
    });
    is(
        "{a::f::{closure#0} upvar_tys=(u8,) resume_ty=() yield_ty=() return_ty=u8}",
        |t| matches!(t, Ty::Coroutine { path, upvars, .. } if path == "a::f::{closure#0}" && upvars.len() == 1),
    );
    is(
        "{static a::g<T>::{closure#0} upvar_tys=() resume_ty=() yield_ty=T return_ty=()}",
        |t| matches!(t, Ty::Coroutine { path, upvars, .. } if path == "a::g<T>::{closure#0}" && upvars.is_empty()),
    );
    is("{a::f::{closure#0} closure_kind_ty=i8 signature_parts_ty=fn() upvar_tys=()}", |t| {
        matches!(t, Ty::OpaqueCoroutine { .. })
    });
    is("impl core::iter::Iterator<Item = Option<(u8, u8)>> + 'a", |t| matches!(t, Ty::Param { .. }));
    is("Self", |t| matches!(t, Ty::Param { .. }));
    is("unsafe<Region(BrAnon)> &'^0 u8", |t| matches!(t, Ty::UnsafeBinder { .. }));
    is("{type error}", |t| matches!(t, Ty::Error { .. }));
    is("#[target_features] fn(u8) {a::f::<u8>}", |t| matches!(t, Ty::FnDef { path, .. } if path == "a::f::<u8>"));
    for bad in [
        "",
        "...",
        "(u8",
        "[u8",
        "a::",
        "a::B<",
        "&u8 mut",
        "{a::b unknown=3}",
        "{a::b upvar_tys=()}",
        "dyn X",
        "fn(u8",
        "(u8) is 1..2",
    ] {
        assert!(snippet(&function(&format!("_1: {bad}"), "nop")).is_err(), "{bad}");
    }
}

#[test]
fn groups_after_signatures_go_to_the_outermost() {
    let output = |text: &str| {
        let (parsed, found) = type_of(text);
        match found {
            Ty::FnDef { path, sig, .. } => (Some(path), ty(&parsed, sig.output).text().to_owned()),
            Ty::FnPtr { sig, .. } => (None, ty(&parsed, sig.output).text().to_owned()),
            other => panic!("{other:?}"),
        }
    };
    let some = |path: &str, out: &str| (Some(path.to_owned()), out.to_owned());
    assert_eq!(output("fn() -> fn() -> u8"), (None, "fn() -> u8".to_owned()));
    assert_eq!(output("fn() -> fn() -> u8 {a}"), some("a", "fn() -> u8"));
    assert_eq!(output("fn() -> fn() -> u8 {a} {b}"), some("b", "fn() -> u8 {a}"));
    assert_eq!(output("fn() -> fn() -> fn() {a} {b}"), some("b", "fn() -> fn() {a}"));
    assert_eq!(output("fn() -> (fn() -> u8 {a},) {b}"), some("b", "(fn() -> u8 {a},)"));
    assert_eq!(output("fn() -> a::B<fn() {x}>"), (None, "a::B<fn() {x}>".to_owned()));
    assert_eq!(output("unsafe extern \"C\" fn(*const u8, ...) -> i32 {printf}"), some("printf", "i32"));
}

#[test]
fn terminators_of_every_kind() {
    let read = |line: &str| terminator(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(read("goto -> bb7"), TerminatorKind::Goto { target: 7 });
    assert_eq!(read("return"), TerminatorKind::Return);
    assert_eq!(read("resume"), TerminatorKind::Resume);
    assert_eq!(read("unreachable"), TerminatorKind::Unreachable);
    assert_eq!(read("coroutine_drop"), TerminatorKind::CoroutineDrop);
    assert_eq!(read("terminate(abi)"), TerminatorKind::TerminateAbi);
    assert_eq!(read("terminate(cleanup)"), TerminatorKind::TerminateCleanup);
    assert!(
        matches!(read("switchInt(copy _1) -> bb3"), TerminatorKind::SwitchInt { arms, otherwise: 3, .. } if arms.is_empty())
    );
    let call = |line: &str| match read(line) {
        TerminatorKind::Call { target, unwind, .. } => (target, unwind.action, unwind.block),
        other => panic!("{other:?}"),
    };
    assert_eq!(call("_1 = move _2(copy _1) -> [return: bb1, unwind: bb2]"), (Some(1), UnwindAction::Cleanup, Some(2)));
    assert_eq!(call("_1 = move _2() -> [return: bb1, unwind continue]"), (Some(1), UnwindAction::Continue, None));
    assert_eq!(call("_1 = a::{constant#0}::<u8>() -> unwind terminate(abi)"), (None, UnwindAction::TerminateAbi, None));
    assert_eq!(call("_1 = const a::F(copy _1) -> bb6"), (None, UnwindAction::Cleanup, Some(6)));
    assert!(
        matches!(read("tailcall ConstValue(ZeroSized: fn(u32) {f})(copy _1)"), TerminatorKind::TailCall { args, .. } if args.len() == 1)
    );
    assert!(matches!(
        read("drop(_1) -> [return: bb1, unwind terminate(cleanup)]"),
        TerminatorKind::Drop { target: 1, .. }
    ));
    assert!(matches!(read("drop(_1) -> [return: bb1, unwind: bb2, drop: bb3]"), TerminatorKind::AsyncDrop { .. }));
    assert!(matches!(
        read("async drop(_1; poll=_2) -> [return: bb1, unwind continue]"),
        TerminatorKind::AsyncDrop { .. }
    ));
    match read("assert(!move _1, \"attempt to compute `{} + {}`, which would overflow\", copy _1, const N/#0) -> [success: bb2, unwind: bb3]") {
        TerminatorKind::Assert { expected, message, args, target, unwind, .. } => {
            assert_eq!((expected, args.len(), target, unwind.block), (false, 2, 2, Some(3)));
            assert_eq!(message, "attempt to compute `{} + {}`, which would overflow");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        read("assert(copy _1, \"null pointer dereference occurred\") -> [success: bb2, unwind unreachable]"),
        TerminatorKind::Assert { expected: true, args, .. } if args.is_empty()
    ));
    assert!(
        matches!(read("_1 = yield(copy _1) -> [resume: bb1, drop: bb2]"), TerminatorKind::Yield { text } if text.starts_with("_1 = "))
    );
    assert!(matches!(read("falseEdge -> [real: bb1, imaginary: bb2]"), TerminatorKind::FalseEdge { .. }));
    assert!(matches!(read("falseUnwind -> [real: bb1, unwind continue]"), TerminatorKind::FalseUnwind { .. }));
    for bad in [
        "goto",
        "jump -> bb1",
        "_1 = move _2(copy _1) -> [return: bb1]",
        "_1 = move _2(copy _1) -> [back: bb1, unwind continue]",
        "_1 = move _2(copy _1)",
        "switchInt(copy _1) -> [x: bb1, otherwise: bb2]",
        "switchInt(copy _1) -> [1: bb1]",
        "drop(_1) -> [unwind continue]",
        "assert(copy _1, \"message) -> [success: bb2, unwind unreachable]",
        "terminate(other)",
        "return -> bb1",
    ] {
        assert!(terminator(bad).is_err(), "{bad}");
    }
}

#[test]
fn constants_of_every_kind() {
    let read = |text: &str| match rvalue("_1: u32; _2: &'{erased} str", &format!("_1 = {text}")) {
        Rvalue::Use { operand: Operand::Const { value } } => value,
        other => panic!("{text}: {other:?}"),
    };
    assert!(matches!(read("const N/#0"), Const::TyConst { text, ty: None } if text == "N/#0"));
    assert!(matches!(read("const ValTree(Leaf(0x01): bool)"), Const::TyConst { ty: Some(_), .. }));
    assert!(matches!(
        read("const ValTree(Branch([ValTree(Leaf(0x01): u8), ValTree(Leaf(0x00): bool)]): (u8, bool))"),
        Const::TyConst { ty: Some(_), .. }
    ));
    for (bad, line) in [
        ("odd digits", "const ConstValue(Scalar(0x123): u32)"),
        ("upper case", "const ConstValue(Scalar(0xAB): u8)"),
        ("too wide", &format!("const ConstValue(Scalar(0x{}): u128)", "00".repeat(17))),
        ("no type", "const ConstValue(Scalar(0x12))"),
        ("unknown value", "const ConstValue(Other(0x12): u8)"),
        ("error", "const {const error}"),
        ("a number of the short style", "const 7_u32"),
        ("a truth of the short style", "const true"),
        ("a string of the short style", "const \"a\""),
    ] {
        assert!(statement("_1: u32", &format!("_1 = {line}")).is_err(), "{bad}");
    }
    // Allocations that a body uses must be printed after it.
    let slice =
        function("_1: &'{erased} str", "_1 = const ConstValue(Slice { alloc_id: alloc4, meta: 2 }: &'{erased} str)");
    let error = snippet(&slice).unwrap_err();
    assert!(error.message.contains("alloc4"), "{error}");
    let whole = format!(
        "{slice}\nalloc4 (size: 2, align: 1) {{\n    61 62                                           │ ab\n}}\n"
    );
    let parsed = snippet(&whole).unwrap();
    assert!(matches!(&parsed.parts.allocs[..], [Alloc::Memory { id: 4, size: 2, bytes, .. }] if bytes == "6162"));
}

#[test]
fn allocations_of_every_kind() {
    let uses = |dump: &str| {
        let text = function("_1: &'{erased} u8", "_1 = const ConstValue(Scalar(alloc4+0x10<imm>): &'{erased} u8)");
        snippet(&format!("{text}\nalloc4 {dump}\n"))
    };
    let read = |dump: &str| uses(dump).unwrap_or_else(|error| panic!("{dump}: {error}")).parts.allocs[0].clone();
    assert!(matches!(read("(fn: a::f::<u8>)"), Alloc::Fn { instance, .. } if instance == "a::f::<u8>"));
    assert!(matches!(read("(vtable: impl a::T for (u8,))"), Alloc::Vtable { .. }));
    assert!(matches!(read("(typeid for a::T)"), Alloc::Typeid { .. }));
    assert!(matches!(read("(static: a::S)"), Alloc::StaticUnprinted { text, .. } if text == "a::S"));
    assert!(matches!(read("(static: a::S, error during initializer evaluation)"), Alloc::StaticError { .. }));
    assert!(matches!(read("(extern static: a::S)"), Alloc::ExternStatic { .. }));
    assert!(matches!(read("(deallocated)"), Alloc::Deallocated { .. }));
    assert!(matches!(read("(size: 0, align: 8) {}"), Alloc::Memory { size: 0, .. }));
    let wide =
        "(size: 16, align: 8) {\n    ╾a4+0x2cb86891e578f4a5 (8 ptr bytes)╼ 00 __ __ __ 7c 7d │ ╾──────╼.░░░|}\n}";
    assert!(uses(wide).is_err(), "14 bytes shown");
    let wide =
        "(size: 14, align: 8) {\n    ╾a4+0x2cb86891e578f4a5 (8 ptr bytes)╼ 00 __ __ __ 7c 7d       │ ╾──────╼.░░░|}\n}";
    match read(wide) {
        Alloc::Memory { bytes, uninit, relocations, .. } => {
            assert_eq!(bytes, format!("{}000000007c7d", "00".repeat(8)));
            assert_eq!(uninit, [(9, 12)]);
            assert_eq!((relocations[0].at, relocations[0].size, relocations[0].alloc), (0, 8, 4));
            assert_eq!(relocations[0].offset, 0x2cb8_6891_e578_f4a5);
        }
        other => panic!("{other:?}"),
    }
    for bad in [
        "(size: 2, align: 1) { .. }",
        "(size: 2, align: 1) {\n    61 6g │ a.\n}",
        "(size: 2, align: 1) {\n    61 │ a\n}",
        "(size: 1, align: 1) {\n    ╾61a4<imm> (ptr fragment 0)╼ │ ━\n}",
        "(size: 8, align: 8) {\n    ╾─────bloc4───────────╼ │ ╾──────╼\n}",
        "(size: 17, align: 1) {\n    0x10 │ 61 │ a\n}",
        "(thing: x)",
    ] {
        assert!(uses(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_is_unknown_is_named_with_its_line() {
    let text = function("_1: u32", "Frobnicate(_1)");
    let error = snippet(&text).unwrap_err();
    assert_eq!(error.line, 6);
    assert!(error.message.contains("unknown statement or terminator"), "{error}");
    assert!(error.message.contains("Frobnicate(_1)"), "{error}");
    for (broken, line) in [
        (text.replace("Frobnicate(_1)", "_1 = copy _1 as u8 (NewCast)"), 6),
        (text.replace("Frobnicate(_1)", "_1 = frob copy _1"), 6),
        (text.replace("    let mut _1: u32;\n", "    let mut _1: u32;\n    watch x => _1;\n"), 4),
        (text.replace("Frobnicate(_1)", "nop").replace("bb0", "bb1"), 5),
        (text.replace("Frobnicate(_1)", "nop").replace("_1: u32", "_2: u32"), 1),
        ("thing\n".to_owned(), 1),
        ("// NEW SECTION\n".to_owned(), 1),
        ("const A: u32 = ConstValue;\n".to_owned(), 1),
    ] {
        assert_eq!(snippet(&broken).map(|_| ()).map_err(|error| error.line), Err(line), "{broken}");
    }
}

#[test]
fn absurd_nesting_is_an_error() {
    for unit in ["&", "*const ", "[", "(", "a<", "fn() -> ", "unsafe<Region(BrAnon)> "] {
        for depth in [100_000, 3_000] {
            let text = function(&format!("_1: {}u8", unit.repeat(depth)), "nop");
            assert!(snippet(&text).is_err(), "{unit}");
        }
    }
    let deep = format!("{}u8", "&'{erased} ".repeat(1_500));
    assert!(snippet(&function(&format!("_1: {deep}"), "nop")).is_ok());
    let place = format!("_1 = copy {}_1{}", "(*".repeat(50_000), ")".repeat(50_000));
    assert!(statement("_1: u32", &place).is_ok());
    let groups = (0..60).fold("u8".to_owned(), |inner, _| format!("fn() -> ({inner},) {{x}} {{y}}"));
    assert!(snippet(&function(&format!("_1: {groups}"), "nop")).is_err());
}

#[test]
fn spans_may_name_any_file() {
    let line = "        return;                          // bb0[0]: scope 0 at a: b (c)::d.rs:1:2: 3:4\n";
    let text = format!("fn f() -> () {{\n    let mut _0: ();                      // return place in scope 0 at no-location\n\n    bb0: {{\n{line}    }}\n}}\n");
    let parsed = parse_dump(&text, None, Grammar::newest(), &Selection::all()).unwrap();
    assert_eq!(parsed.parts.files, ["a: b (c)::d.rs"]);
    let span = parsed.parts.spans[0];
    assert_eq!([span.line, span.col, span.end_line, span.end_col], [1, 2, 3, 4]);
    assert_eq!(parsed.parts.bodies[0].locals[0].span, None);
    for wrong in ["bb1[0]", "bb0[1]"] {
        assert!(parse_dump(&text.replace("bb0[0]", wrong), None, Grammar::newest(), &Selection::all()).is_err());
    }
}

#[test]
fn every_argument_has_its_name() {
    let zst = "const ConstValue(ZeroSized: core::marker::PhantomData<u8>)";
    let body = |header: &str, debug: &[&str]| {
        let lines: String = debug.iter().map(|line| format!("    debug {line};\n")).collect();
        let unit = "core::marker::PhantomData<u8>";
        let text = format!("fn {header}(_1: {unit}, _2: u32, _3: {unit}) -> () {{\n{lines}    let mut _0: ();\n    scope 1 {{\n        debug inner => {zst};\n    }}\n\n    bb0: {{\n        return;\n    }}\n}}\n");
        let parsed = snippet(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let named = |at: usize| parsed.parts.bodies[0].locals[at].name.clone().unwrap_or_default();
        [named(1), named(2), named(3)]
    };
    let constant = |name: &str| format!("{name} => {zst}");
    let (a, c) = (constant("a"), constant("c"));
    assert_eq!(body("f", &["a => _1", "b => _2", "c => _3"]), ["a", "b", "c"]);
    assert_eq!(body("f", &[&a, "b => _2", &c]), ["a", "b", "c"]);
    assert_eq!(body("f", &[&a, "b => _2", "c => _3"]), ["a", "b", "c"]);
    // One too few or too many: whose they are is not known.
    assert_eq!(body("f", &["b => _2", &c]), ["", "b", ""]);
    assert_eq!(body("f", &[&a, "b => _2", "c => _3", &c]), ["", "b", "c"]);
    // What a closure captures looks like an argument.
    assert_eq!(body("f::{closure#0}", &[&a, "b => _2", &c]), ["", "b", ""]);
}

#[test]
fn a_body_stands_where_its_return_type_does() {
    let text = "fn f() -> () {\n    let mut _0: (); // return place in scope 0 at src/lib.rs:3:8: 3:13\n\n    bb0: {\n        return; // bb0[0]: scope 0 at src/lib.rs:4:1: 4:2\n    }\n}\n";
    let parsed = snippet(text).unwrap_or_else(|error| panic!("{error}"));
    let span = parsed.parts.bodies[0].span.expect("a span") as usize;
    let span = &parsed.parts.spans[span];
    assert_eq!((span.line, span.col, span.end_line, span.end_col), (3, 8, 3, 13));
}
