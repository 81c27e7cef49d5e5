//! What the text says badly, in dumps of every release.

mod common;

use common::*;
use mirgen_rustc::parse::{parse_dump, Grammar, Selection};
use mirgen_rustc::wire::{
    Alloc, ClosureKind, Const, ItemKind, Operand, Projection, Rvalue, StatementKind, TerminatorKind, Ty, UnwindAction,
};
use regex::Regex;

#[test]
fn structs_called_like_operators_are_aggregates() {
    for release in RELEASES {
        let parsed = read(release, true);
        let found: Vec<_> = rvalues(body(&parsed, "named"))
            .into_iter()
            .filter_map(|rvalue| match rvalue {
                Rvalue::Adt { path, variant: None, fields, operands } => {
                    Some((path.as_str(), fields.len(), operands.len()))
                }
                _ => None,
            })
            .collect();
        let expected =
            [("Add", 0, 2), ("Cmp", 0, 2), ("Not", 0, 1), ("discriminant", 0, 1), ("copy", 1, 1), ("ConstValue", 0, 1)];
        assert_eq!(found, expected, "{release}");
        let unit = rvalues(body(&parsed, "UNIT"));
        assert!(matches!(unit[..], [Rvalue::Adt { path, operands, .. }] if path == "UbChecks" && operands.is_empty()));
        let compares = rvalues(body(&parsed, "ordering"));
        assert!(compares.iter().any(|rvalue| matches!(rvalue, Rvalue::Binary { op, .. } if op == "Cmp")));
    }
}

#[test]
fn variants_are_named_and_numbered() {
    for release in RELEASES {
        let parsed = read(release, true);
        let mut variants: Vec<_> = rvalues(body(&parsed, "ops"))
            .into_iter()
            .filter_map(|rvalue| match rvalue {
                Rvalue::Adt { variant, .. } => variant.as_deref(),
                _ => None,
            })
            .collect();
        variants.sort_unstable();
        assert_eq!(variants, ["Add", "Eq", "Lt", "type"], "{release}");
        let expected = [("Add", Some(0)), ("Eq", Some(1)), ("type", Some(3))];
        assert_eq!(downcasts(&parsed), expected, "{release}");
        let alone = read(release, false);
        assert_eq!(downcasts(&alone), expected.map(|(name, _)| (name, None)), "{release}");
    }
}

fn downcasts(parsed: &mirgen_rustc::parse::Parsed) -> Vec<(&str, Option<u32>)> {
    let mut found = Vec::new();
    for rvalue in rvalues(body(parsed, "read_ops")) {
        if let Rvalue::Use { operand: Operand::Copy { place } } = rvalue {
            for projection in &place.proj {
                if let Projection::Downcast { variant: Some(name), index } = projection {
                    found.push((name.as_str(), *index));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn function_items_that_return_functions() {
    for release in RELEASES {
        let parsed = read(release, true);
        let returns = |text: &str| match ty_called(&parsed, text) {
            Ty::FnDef { path, sig, .. } => (path.clone(), ty(&parsed, sig.output).text().to_owned()),
            other => panic!("{other:?}"),
        };
        assert_eq!(returns("fn() -> fn() -> u32 {ff}"), ("ff".to_owned(), "fn() -> u32".to_owned()));
        assert_eq!(returns("fn() -> &'static fn() -> u32 {rf}"), ("rf".to_owned(), "&'static fn() -> u32".to_owned()));
        let outputs: Vec<_> = parsed
            .parts
            .types
            .iter()
            .filter_map(|found| match found {
                Ty::Closure { path, sig: Some(sig), closure_kind: Some(ClosureKind::Fn), .. } => {
                    path.starts_with("items::").then(|| (path.as_str(), ty(&parsed, sig.output).text()))
                }
                _ => None,
            })
            .collect();
        let expected =
            [("items::{closure#0}", "fn() -> u32 {seven}"), ("items::{closure#1}", "fn() -> fn() -> u32 {ff}")];
        assert_eq!(outputs, expected, "{release}");
        assert!(matches!(ty_called(&parsed, "impl Fn(u32) -> u32 + Copy"), Ty::Param { .. }));
        assert!(matches!(ty_called(&parsed, "T"), Ty::Param { .. }), "{release}");
        assert!(matches!(ty_called(&parsed, "D"), Ty::Adt { .. }), "{release}");
    }
}

#[test]
fn variadic_calls() {
    for release in RELEASES {
        let parsed = read(release, true);
        let callee = terminators(body(&parsed, "variadic"))
            .into_iter()
            .find_map(|terminator| match terminator {
                TerminatorKind::Call { func: Operand::Const { value: Const::Zst { ty } }, args, .. } => {
                    Some((*ty, args.len()))
                }
                _ => None,
            })
            .unwrap();
        assert_eq!(callee.1, 3);
        match ty(&parsed, callee.0) {
            Ty::FnDef { path, sig, .. } => {
                assert_eq!(path, "printf");
                assert_eq!((sig.abi.as_str(), sig.is_unsafe, sig.variadic, sig.inputs.len()), ("C", true, true, 1));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_bare_successor_of_a_call_is_its_cleanup() {
    for release in RELEASES {
        let parsed = read(release, true);
        let diverges = body(&parsed, "diverges");
        let call = terminators(diverges).into_iter().find_map(|terminator| match terminator {
            TerminatorKind::Call { target, unwind, .. } => Some((*target, *unwind)),
            _ => None,
        });
        let (target, unwind) = call.unwrap();
        assert_eq!((target, unwind.action), (None, UnwindAction::Cleanup));
        assert!(diverges.blocks[unwind.block.unwrap() as usize].cleanup);
        let cleans = terminators(body(&parsed, "cleans")).into_iter().find_map(|terminator| match terminator {
            TerminatorKind::Call { func: Operand::Copy { .. }, target, unwind, .. } => {
                Some((target.is_some(), unwind.action))
            }
            _ => None,
        });
        assert_eq!(cleans, Some((true, UnwindAction::Cleanup)));
        let drops = terminators(diverges)
            .iter()
            .filter(|terminator| {
                matches!(terminator, TerminatorKind::Drop { unwind, .. } if unwind.action == UnwindAction::TerminateCleanup)
            })
            .count();
        assert_eq!(drops, 1);
    }
}

#[test]
fn closures_get_every_operand_from_the_side_channel() {
    for release in RELEASES {
        let closure = |side_channel| {
            let parsed = read(release, side_channel);
            let found = rvalues(body(&parsed, "captures")).into_iter().find_map(|rvalue| match rvalue {
                Rvalue::Closure { location, operands, complete } => Some((location.clone(), operands.len(), *complete)),
                _ => None,
            });
            found.unwrap()
        };
        let (location, operands, complete) = closure(true);
        assert_eq!((operands, complete), (3, true), "{release}");
        assert!(location.starts_with("traps.rs:"), "{location}");
        let (_, operands, complete) = closure(false);
        assert_eq!((operands, complete), (2, false), "{release}");
    }
}

#[test]
fn a_side_channel_of_another_crate_is_not_used() {
    let text = text("1.96.0", "mir");
    let other = "fn f(_1: u32) -> u32 {\n    bb0: {\n        return;\n    }\n}\n";
    let parsed = parse_dump(&text, Some(other), grammar("1.96.0"), &Selection::all()).unwrap();
    assert_eq!(parsed.notes.len(), 1, "{:?}", parsed.notes);
    assert!(parsed.notes[0].starts_with("side channel not used: 1 bodies"), "{:?}", parsed.notes);
    assert!(parsed.parts.bodies.iter().all(|body| body.instance.is_none()));
}

#[test]
fn headers_that_are_equal_have_their_own_instances() {
    for release in RELEASES {
        let parsed = read(release, true);
        assert_eq!(parsed.notes, Vec::<String>::new());
        let found: Vec<_> = parsed
            .parts
            .index
            .iter()
            .filter(|header| header.header.ends_with("::mac"))
            .map(|header| (header.header.as_str(), header.instance.as_deref().unwrap_or(""), header.args[0].as_str()))
            .collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, found[1].0);
        assert_eq!((found[0].1, found[0].2), ("<M1 as Mac>::mac", "&'{erased} M1"));
        assert_eq!((found[1].1, found[1].2), ("<M2 as Mac>::mac", "&'{erased} M2"));
        for name in ["two::f::inner", "two::f::inner#1"] {
            assert_eq!(parsed.parts.index.iter().filter(|header| header.header == name).count(), 1, "{name}");
        }
    }
}

#[test]
fn constants_left_as_paths() {
    for release in RELEASES {
        let parsed = read(release, true);
        let mut found = Vec::new();
        for rvalue in rvalues(body(&parsed, "generic")) {
            let operands = match rvalue {
                Rvalue::Tuple { operands } => operands.clone(),
                Rvalue::Binary { left, right, .. } => vec![left.clone(), right.clone()],
                _ => continue,
            };
            for operand in operands {
                if let Operand::Const { value: Const::Unevaluated { path, ty: of, .. } } = operand {
                    found.push((path, of.map(|id| ty(&parsed, id).text().to_owned())));
                }
            }
        }
        let expected = [("K", None), ("S", Some("&'{erased} str")), ("A", None)]
            .map(|(name, of)| (format!("<T as Tr>::{name}"), of.map(str::to_owned)));
        assert_eq!(found, expected, "{release}");
        let promoted: Vec<_> = rvalues(body(&parsed, "promoted"))
            .into_iter()
            .filter_map(|rvalue| match rvalue {
                Rvalue::Use { operand: Operand::Const { value: Const::Unevaluated { path, promoted, ty } } } => {
                    Some((path.as_str(), *promoted, ty.is_some()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(promoted, [("promoted", Some(0), true), ("promoted", Some(1), true)], "{release}");
        assert_eq!(body(&parsed, "promoted::promoted[1]").promoted, Some(1));
        let generics = rvalues(body(&parsed, "constants"));
        assert!(generics.iter().any(|rvalue| matches!(rvalue, Rvalue::Repeat { count: Some(n), .. } if n == "2")));
        assert!(matches!(ty_called(&parsed, "[u8; N/#0]"), Ty::Array { len: None, .. }));
    }
}

#[test]
fn pointers_that_straddle_lines() {
    for release in RELEASES {
        let parsed = read(release, true);
        let Alloc::Memory { size, align, bytes, relocations, .. } = static_alloc(&parsed, "PACKED") else {
            panic!("not memory");
        };
        assert_eq!((*size, *align, bytes.len()), (70, 1, 140));
        let at: Vec<_> = relocations.iter().map(|relocation| (relocation.at, relocation.size)).collect();
        assert_eq!(at, [(1, 8), (11, 8), (27, 8), (36, 8), (46, 8), (62, 8)], "{release}");
        let offsets: Vec<_> = relocations.iter().map(|relocation| relocation.offset).collect();
        assert_eq!(offsets, [8, 0, 0, 0x12c, 0, 0], "{release}");
        assert_eq!(&bytes[..2], "01");
        assert_eq!(&bytes[18..22], "0300");
        assert_eq!(&bytes[38..54], "0100000000000000");
        let Alloc::Memory { uninit, bytes, .. } = static_alloc(&parsed, "HOLES") else {
            panic!("not memory");
        };
        assert_eq!(uninit, &[(1, 4), (9, 12)]);
        assert_eq!(bytes, "01000000020000000300000004000000");
        let Alloc::Memory { bytes, .. } = static_alloc(&parsed, "BIG") else {
            panic!("not memory");
        };
        assert_eq!(*bytes, format!("{}08000000", "07".repeat(300)));
        let kinds: Vec<_> = parsed.parts.allocs.iter().filter(|a| matches!(a, Alloc::Vtable { .. })).collect();
        assert_eq!(kinds.len(), 1, "{release}");
    }
}

#[test]
fn templates_and_strings_that_look_like_text() {
    for release in RELEASES {
        let parsed = read(release, true);
        let asm = terminators(body(&parsed, "asm"));
        let TerminatorKind::InlineAsm { text } = asm[0] else { panic!("{asm:?}") };
        assert!(text.starts_with("asm!(\"\n# first column, \"quotes\", bb0[1]: scope 0\n"), "{text}");
        assert!(text.ends_with("-> [return: bb1, unwind unreachable]"), "{text}");
        assert!(!parsed.parts.index.iter().any(|header| header.header.contains("evil")));
        let contents: Vec<_> = parsed
            .parts
            .allocs
            .iter()
            .filter_map(|alloc| match alloc {
                Alloc::Memory { bytes, .. } => Some(bytes.as_str()),
                _ => None,
            })
            .collect();
        let hex: String = "})] -> [return: bb1".bytes().map(|b| format!("{b:02x}")).collect();
        assert!(contents.contains(&hex.as_str()), "{release}");
    }
}

#[test]
fn switches_and_floats_keep_their_bits() {
    for release in RELEASES {
        let parsed = read(release, true);
        let mut values: Vec<_> = terminators(body(&parsed, "switches"))
            .into_iter()
            .filter_map(|terminator| match terminator {
                TerminatorKind::SwitchInt { arms, .. } => Some(arms.iter().map(|arm| arm.value.clone())),
                _ => None,
            })
            .flatten()
            .collect();
        values.sort();
        assert_eq!(values, ["1114111", "1208925819614629174706175", "253", "34", "5", "7"], "{release}");
        let Alloc::Memory { bytes, uninit, .. } = &parsed
            .parts
            .allocs
            .iter()
            .find(|alloc| matches!(alloc, Alloc::Memory { bytes, .. } if bytes.contains("0100c07f")))
            .unwrap()
        else {
            panic!("not memory");
        };
        assert!(bytes.contains("0000000000000080"), "{bytes}");
        assert_eq!(uninit.len(), 1);
    }
}

#[test]
fn scopes_spans_and_names() {
    for release in RELEASES {
        let parsed = read(release, true);
        let slices = body(&parsed, "slices");
        let inlined: Vec<_> = slices.scopes.iter().filter_map(|scope| scope.inlined.as_deref()).collect();
        assert!(inlined.contains(&"<u32 as core::ops::BitXor>::bitxor"), "{inlined:?}");
        assert!(slices.scopes.iter().any(|scope| scope.track_caller && scope.span.is_some()));
        assert_eq!(slices.scopes[0].parent, None);
        assert!(slices.scopes.iter().skip(1).all(|scope| scope.parent.is_some()));
        assert_eq!(slices.locals[1].name.as_deref(), Some("v"));
        assert!(slices.blocks.iter().all(|block| block.terminator.span.is_some() && block.terminator.scope.is_some()));
        let span = parsed.parts.spans[slices.locals[0].span.unwrap() as usize];
        assert_eq!(parsed.parts.files[span.file as usize], "traps.rs");
        assert!(span.line > 0 && span.end_col > span.col);
    }
}

#[test]
fn selection_takes_promoted_constants_and_needed_allocations_only() {
    for release in RELEASES {
        let text = text(release, "mir");
        let stable = common::text(release, "stable-mir");
        let only = |functions: &[&str], patterns: &[&str]| {
            let selection = Selection {
                functions: functions.iter().map(|f| (*f).to_owned()).collect(),
                patterns: patterns.iter().map(|p| Regex::new(p).unwrap()).collect(),
                all: false,
            };
            parse_dump(&text, Some(&stable), grammar(release), &selection).unwrap()
        };
        let headers = |parsed: &mirgen_rustc::parse::Parsed| -> Vec<String> {
            parsed.parts.bodies.iter().map(|body| body.header.clone()).collect()
        };
        let promoted = only(&["promoted"], &[]);
        assert_eq!(headers(&promoted), ["promoted", "promoted::promoted[0]", "promoted::promoted[1]"]);
        assert!(promoted.parts.allocs.is_empty());
        assert!(promoted.parts.index.len() > 50);
        assert_eq!(headers(&only(&["<M2 as Mac>::mac"], &[])).len(), 1);
        assert_eq!(headers(&only(&["both"], &[])), ["both"]);
        assert_eq!(headers(&only(&[], &["^two::f"])).len(), 3);
        let missing = only(&["nowhere"], &[]);
        assert_eq!(missing.notes, ["no body is called `nowhere`"]);
        // A constant's own dump leaves statics without contents; a function's has them.
        let packed = only(&["PACKED"], &[]);
        assert!(packed.parts.bodies[0].kind == ItemKind::Static);
        assert!(packed.parts.allocs.iter().all(|alloc| matches!(alloc, Alloc::Memory { .. })), "{release}");
    }
}

#[test]
fn index_gives_types_and_lines() {
    for release in RELEASES {
        let text = text(release, "mir");
        let parsed = parse_dump(&text, None, grammar(release), &Selection::default()).unwrap();
        assert!(parsed.parts.bodies.is_empty() && parsed.parts.types.is_empty());
        let cleans = parsed.parts.index.iter().find(|header| header.header == "cleans").unwrap();
        assert_eq!(cleans.args, ["u32", "fn(u32) -> u32"]);
        assert_eq!(cleans.output, "u32");
        let line = text.lines().nth(cleans.line as usize - 1).unwrap();
        assert!(line.starts_with("fn cleans("), "{line}");
        let mut kinds: Vec<_> = parsed.parts.index.iter().map(|header| format!("{:?}", header.kind)).collect();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds, ["Const", "Fn", "Promoted", "Static", "StaticMut", "TrivialConst"][1..], "{release}");
    }
}

#[test]
fn retags_belong_to_their_releases() {
    let retag = function("_1: &'{erased} u32", "Retag([fn entry] _1)");
    let (old, new) = (Grammar::for_release("1.96.0").0, Grammar::for_release("1.97.0").0);
    assert!(parse_dump(&retag, None, old, &Selection::all()).is_ok());
    assert!(parse_dump(&retag, None, new, &Selection::all()).is_err());
    let no_retag = function("_1: &'{erased} u32; _2: &'{erased} u32", "_1 = no_retag copy _2");
    assert!(parse_dump(&no_retag, None, new, &Selection::all()).is_ok());
    assert!(parse_dump(&no_retag, None, old, &Selection::all()).is_err());
    let (grammar, note) = Grammar::for_release("1.99.1");
    assert_eq!(grammar, Grammar::newest());
    assert!(note.unwrap().contains("1.99.1"));
}

#[test]
fn an_ignored_statement_keeps_its_text() {
    let read = |line: &str| match statement("_1: u32", line).unwrap() {
        StatementKind::Ignored { text } => text,
        other => panic!("{other:?}"),
    };
    for line in ["nop", "ConstEvalCounter", "FakeRead(ForLet(None), _1)", "Coverage::VirtualCounter(bcb0)"] {
        assert_eq!(read(line), line);
    }
}
