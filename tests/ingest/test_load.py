"""Documents in, MIR out; and what is said about documents that are not right."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mirgen.errors import InvalidInputError
from mirgen.ingest import MirUnit, load_mir
from mirgen.mir import place as p
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t
from mirgen.mir.body import FnAlloc, MemoryAlloc, OtherAlloc, Relocation
from mirgen.mir.printer import format_bodies
from mirgen.mir.statement import Span
from mirgen.mir.verify.context import is_open

DATA = Path(__file__).parent / "data"


def load(document: dict[str, Any]) -> MirUnit:
    return load_mir(json.dumps(document).encode())


def fault(document: dict[str, Any]) -> str:
    with pytest.raises(InvalidInputError) as e:
        load(document)
    return str(e.value)


def test_everything_arrives(every_construct: dict[str, Any]) -> None:
    unit = load(every_construct)
    assert (unit.crate, unit.compiler.release, unit.compiler.grammar) == ("t", "1.96.0", "1.96")
    assert [h.kind for h in unit.index] == ["fn", "static"]
    body = unit.bodies[0]
    assert (body.name, body.arg_count, len(body.locals), len(body.blocks)) == ("t::f", 2, 22, 14)
    assert body.span == Span("t.rs", 3, 5, 3, 9)
    assert body.scopes[2].track_caller and body.scopes[2].inlined == "core::option::Option::<u32>::unwrap"
    assert unit.bodies[1].promoted == 0 and unit.bodies[-1].ctfe
    switch = body.blocks[0].terminator
    assert isinstance(switch, s.SwitchInt) and switch.arms[1] == ((1 << 128) - 1, 2)
    closure = body.locals[7].ty
    assert isinstance(closure, t.ClosureTy) and [u.text for u in closure.upvars] == ["u32"]
    generic = body.locals[17].ty
    assert isinstance(generic, t.AdtTy) and [a.text for a in generic.args] == ["u32"]
    assert generic.const_args == ("ValTree(Leaf(0x0000000000000003): usize)",)
    assert isinstance(unit.types[-2], t.DynTy) or isinstance(unit.types[-1], t.PointerTy)


def test_text_of_every_construct() -> None:
    unit = load_mir(DATA / "every-construct.json")
    golden = (DATA / "every-construct.mir").read_text(encoding="utf-8")
    made = format_bodies(unit.bodies, unit.allocs, verbose=True)
    assert made == golden, "bless with `python tests/ingest/bless.py` after reading the difference"


def test_allocations_are_renumbered(every_construct: dict[str, Any]) -> None:
    unit = load_mir(json.dumps(every_construct).encode(), first_alloc=100)
    assert list(unit.allocs) == [100, 101, 102, 103, 104, 105]
    memory = unit.allocs[102]
    assert isinstance(memory, MemoryAlloc)
    assert memory.relocations == (Relocation(0, 8, 101, 4), Relocation(8, 8, 103, 0))
    assert memory.data[20] == 42 and memory.uninit == ((16, 20), (24, 28))
    assert unit.allocs[103] == FnAlloc("t::id")
    assert unit.allocs[104] == OtherAlloc("vtable", "vtable: impl t::Tr for u32")
    found = {c.alloc for b in unit.bodies for c in _pointers(b.blocks[0].statements)}
    assert found == {100, 101, 102}


def test_a_static_is_known_by_its_crate(every_construct: dict[str, Any]) -> None:
    """rustc writes the crate's own statics without its name, those of others with theirs."""

    def identities(crate: str, own: str, mentioned: str) -> list[str]:
        every_construct["crate_name"] = crate
        (header,) = [h for h in every_construct["index"] if h["kind"] == "static"]
        header["header"] = own
        for alloc in every_construct["allocs"]:
            if alloc.get("static"):
                alloc["static"] = mentioned
        return [a.identity for a in load(every_construct).allocs.values() if isinstance(a, MemoryAlloc) and a.static]

    assert identities("t", "m::TABLE", "m::TABLE") == ["t::m::TABLE"]
    assert identities("user", "OTHER", "t::m::TABLE") == ["t::m::TABLE"]
    # A module that is named like a crate.
    assert identities("user", "t::m::TABLE", "t::m::TABLE") == ["user::t::m::TABLE"]


def _pointers(statements: tuple[s.Statement, ...]) -> list[p.PointerConst | p.SliceConst | p.IndirectConst]:
    from mirgen.mir.walk import constants_of

    kinds = (p.PointerConst, p.SliceConst, p.IndirectConst)
    return [c for x in statements for c in constants_of(x) if isinstance(c, kinds)]


def test_one_line_constants_that_differ_or_have_no_bytes_are_unknown(every_construct: dict[str, Any]) -> None:
    unprinted = {"kind": "const", "const": {"kind": "slice", "ty": 12, "alloc": 5, "meta": 2}}
    every_construct["trivial_consts"].append({"header": "t::TEXT", "ty": 12, "value": unprinted})
    unit = load(every_construct)
    assert set(unit.trivial_consts) == {"t::N", "t::M"}
    assert unit.unknown_consts == {"t::_", "t::TEXT"}


def test_types_are_one_object_each_and_compare_by_text(every_construct: dict[str, Any]) -> None:
    unit = load(every_construct)
    body = unit.bodies[0]
    assert body.locals[0].ty is body.locals[1].ty
    again = load(every_construct)
    assert again.bodies[0].locals[17].ty == body.locals[17].ty
    assert hash(again.bodies[0].locals[17].ty) == hash(body.locals[17].ty)
    every_construct["crate_name"] = "other"
    assert load(every_construct).bodies[0].locals[0].ty != body.locals[0].ty


def test_a_variant_that_shares_its_name_with_a_type_parameter(every_construct: dict[str, Any]) -> None:
    """rustc's path of it has a number, its name has none; the path is printed as it was."""
    text = json.dumps(every_construct)
    numbered = text.replace('::Some", "variant": "Some"', '::Some#1", "variant": "Some#1"')
    assert numbered != text
    unit = load_mir(numbered.encode())
    made = [x.rvalue for block in unit.bodies[0].blocks for x in block.statements if isinstance(x, s.Assign)]
    assert {"Some"} == {x.variant for x in made if isinstance(x, r.AdtAggregate) and x.path.endswith("::Some#1")}
    assert "::Some#1" in format_bodies(unit.bodies, unit.allocs, verbose=True)


def test_missing_file() -> None:
    with pytest.raises(InvalidInputError, match=r"gone\.json: cannot read"):
        load_mir(Path("gone.json"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "<document>: not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "<document>: "),
        (b"{}", "schema: no `schema`: not a mirgen document"),
        (b'{"schema":"mirgen-layout"}', "schema: schema 'mirgen-layout' where 'mirgen-mir' is expected"),
        (b'{"schema":"mirgen-mir","version":2}', "version: version 2, but this mirgen reads version 1"),
        (b'{"schema":"mirgen-mir","version":"1"}', "version: version '1', but this mirgen reads version 1"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_not_a_document(data: bytes, message: str) -> None:
    with pytest.raises(InvalidInputError) as e:
        load_mir(data)
    assert message in str(e.value)


def _set(document: Any, path: str, value: Any) -> None:
    *way, last = [int(x) if x.isdigit() else x for x in path.split(".")]
    for step in way:
        document = document[step]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("bodies.0.surprise", 1, "bodies[0].surprise: unknown field"),
        ("bodies.0.blocks.0.statements.1.rvalue.kind", "len", "bodies[0].blocks[0].statements[1].rvalue: unknown kind"),
        ("bodies.0.blocks.0.statements.2.rvalue.right.const.bits", "7", ".rvalue.right.const.bits: "),
        ("bodies.0.arg_count", "2", "bodies[0].arg_count: "),
        ("bodies.0.arg_count", 22, "bodies[0]: arg_count is 22, but there are 22 locals"),
        ("bodies.0.locals.3.ty", 99, "bodies[0].locals[3]: type 99 is out of range"),
        ("bodies.0.locals.0.span", 4, "bodies[0].locals[0]: span 4 is out of range"),
        ("bodies.0.scopes.1.parent", 1, "bodies[0].scopes[1]: parent scope 1 is not one before scope 1"),
        ("bodies.0.blocks.0.statements.0.local", 22, "bodies[0].blocks[0].statements[0]: local _22 is out of range"),
        ("bodies.0.blocks.0.statements.0.scope", 3, "statements[0]: scope 3 is out of range"),
        ("bodies.0.blocks.1.terminator.target", 14, "bodies[0].blocks[1].terminator: block bb14 is out of range"),
        ("bodies.0.blocks.0.terminator.arms.0.value", "-1", "switch value -1 does not fit in 128 bits"),
        ("bodies.0.blocks.0.terminator.arms.0.value", "x", "switch value: `x` is not a decimal integer"),
        ("bodies.0.blocks.0.terminator.arms.0.value", str((1 << 128) - 1), "two switch arms of one value"),
        ("bodies.0.blocks.2.terminator.unwind.block", None, "unwind `cleanup` without a block"),
        ("bodies.0.blocks.2.terminator.unwind.action", "continue", "unwind `continue` with a block"),
        ("bodies.0.blocks.0.statements.2.rvalue.right.const.size", 0, "scalar 0x00000007 does not fit in 0 bytes"),
        ("bodies.0.blocks.0.statements.2.rvalue.right.const.size", 10**9, "does not fit in 1000000000 bytes"),
        ("bodies.0.blocks.0.statements.15.rvalue.operand.const.alloc", 5, "allocation alloc5 is not in `allocs`"),
        ("bodies.0.blocks.0.statements.6.rvalue.fields", ["a"], "1 field names for 2 operands"),
        ("bodies.0.blocks.0.statements.7.rvalue.count", "1" * 5000, "repeat count: `1111"),
        ("bodies.1.promoted", None, "bodies[1]: kind `promoted` with promoted = None"),
        ("bodies.0.blocks", [], "bodies[0]: no blocks"),
        ("spans.0.file", 9, "spans[0].file: file 9 is out of range"),
        ("types.0.surprise", 0, "types[0].surprise: unknown field"),
        ("types.9.elem", 9, "types[9]: type `()` contains itself"),
        ("allocs.0.bytes", "6f6", "allocs[0].bytes: not hexadecimal"),
        ("allocs.0.bytes", "6f 6b", "allocs[0].bytes: not hexadecimal"),
        ("allocs.0.size", 3, "allocs[0].bytes: 2 bytes, but size is 3"),
        ("allocs.0.align", 3, "allocs[0].align: alignment 3 is no power of two"),
        ("allocs.0.id", 7, "allocs[1].id: alloc7 is given twice"),
        ("allocs.2.uninit.0", [16, 30], "allocs[2].uninit: ranges must be ordered"),
        ("allocs.2.relocations.1.at", 4, "allocs[2].relocations[1]: pointers overlap"),
        ("allocs.2.relocations.1.at", 24, "allocs[2].relocations[1]: pointers overlap or leave"),
        ("allocs.2.relocations.1.alloc", 99, "allocs[2].relocations[1]: alloc99 is not in `allocs`"),
        ("trivial_consts.0.ty", 1000, "trivial_consts[0]: type 1000 is out of range"),
    ],
)
def test_faults_name_their_place(every_construct: dict[str, Any], path: str, value: Any, message: str) -> None:
    if path == "types.9.elem":
        every_construct["types"][9] = {"kind": "tuple", "text": "()", "elems": [9]}
    else:
        _set(every_construct, path, value)
    assert message in fault(every_construct)


def test_long_way_round_a_cycle_of_types(every_construct: dict[str, Any]) -> None:
    types = every_construct["types"]
    n = len(types)
    types.append({"kind": "slice", "text": "[a]", "elem": n + 1})
    types.append({"kind": "tuple", "text": "(b,)", "elems": [0, n + 2]})
    types.append({"kind": "ref", "text": "&c", "mutable": False, "pointee": n})
    assert "contains itself" in fault(every_construct)


@pytest.mark.parametrize(("depth", "fits"), [(400, True), (600, False), (20_000, False)])
def test_deep_types(every_construct: dict[str, Any], depth: int, fits: bool) -> None:
    types = every_construct["types"]
    for i in range(depth):
        types.append({"kind": "slice", "text": f"deep{i}", "elem": len(types) + 1 if i < depth - 1 else 0})
    if fits:
        assert not is_open(load(every_construct).types[-depth])
    else:
        assert "type nested more than 500 deep" in fault(every_construct)


def test_missing_field_is_named(every_construct: dict[str, Any]) -> None:
    del every_construct["bodies"][0]["blocks"][0]["statements"][0]["local"]
    assert "bodies[0].blocks[0].statements[0].local: field is missing" in fault(every_construct)


def test_fast(every_construct: dict[str, Any]) -> None:
    """15,000 statements (the size of sha2's kernel) take well under 1.5 s; the bound is on this process's own time."""
    body = every_construct["bodies"][0]
    block = body["blocks"][0]
    body["blocks"][0] = {**block, "statements": block["statements"] * (15_000 // len(block["statements"]) + 1)}
    data = json.dumps(every_construct).encode()
    start = time.process_time()
    unit = load_mir(data)
    assert time.process_time() - start < 1.5
    assert len(unit.bodies[0].blocks[0].statements) >= 15_000


@pytest.mark.parametrize(
    ("crate", "path", "read"),
    [
        ("core", "intrinsics::exact_div::<usize>", "core::intrinsics::exact_div::<usize>"),
        ("core", "core::intrinsics::exact_div::<usize>", "core::intrinsics::exact_div::<usize>"),
        ("core", "mem::swap::<u8>", "mem::swap::<u8>"),
        ("mine", "intrinsics::exact_div::<usize>", "intrinsics::exact_div::<usize>"),
    ],
)
def test_core_s_own_intrinsics_have_the_name_that_they_have_elsewhere(
    every_construct: dict[str, Any], crate: str, path: str, read: str
) -> None:
    """In core they look like functions, and have bodies there that must not be taken for them."""
    sig: dict[str, Any] = {"inputs": [], "output": 0, "abi": "Rust", "unsafe": False, "variadic": False}
    types = every_construct["types"]
    number = len(types)
    types.append({"kind": "fn_def", "text": f"fn() {{{path}}}", "path": path, "sig": sig})
    every_construct["crate_name"] = crate
    loaded = load(every_construct).types[number]
    assert isinstance(loaded, t.FnDefTy) and loaded.path == read
