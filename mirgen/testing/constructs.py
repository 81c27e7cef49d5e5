"""The table of MIR's constructs: what the lowering makes of each, and the test that shows it.

``python -m mirgen.testing.constructs`` prints docs/constructs.md.  :func:`constructs_of` gives a construct the name
that it has in the table, so that a test can be asked which ones it reaches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from mirgen.intrinsics import atomics, calls, control, find, floats, gpu, heap, ints, memory, pointers
from mirgen.lower.panic import strip_generics
from mirgen.mir import body as m
from mirgen.mir import rvalue as r
from mirgen.mir import statement as s
from mirgen.mir import ty as t

#: Ends of a row beside the codes of refusals: it is lowered; it is nothing; code that runs cannot hold it.
LOWERED: Final = "ok"
IMPOSSIBLE: Final = "internal"


@dataclass(frozen=True, slots=True)
class Row:
    """``construct`` is a name as :func:`constructs_of` gives it, ``end`` one of the above or the code of the refusal,
    ``test`` a test under ``tests/`` that reaches it so."""

    construct: str
    how: str
    test: str
    end: str = LOWERED


def _rows(test: str, *rows: tuple[str, str] | tuple[str, str, str]) -> tuple[Row, ...]:
    return tuple(Row(row[0], row[1], test, *row[2:]) for row in rows)


_ARITH: Final = "lower/test_arith.py"
_CALLS: Final = "lower/test_calls.py"
_CAST: Final = "lower/test_cast.py"
_CONSTANTS: Final = "lower/test_constants.py"
_CORE: Final = "lower/test_core.py"
_ENUMS: Final = "lower/test_enums.py"
_OBJECTS: Final = "lower/test_objects.py"
_PANICS: Final = "lower/test_panics.py"
_PLACES: Final = "lower/test_places.py"
_RARE: Final = "lower/test_rare.py"

SECTIONS: Final[Mapping[str, tuple[Row, ...]]] = MappingProxyType(
    {
        "Statements": (
            Row(
                "Assign",
                "a value, or parts written to a place",
                f"{_CORE}::test_aggregates_read_everything_before_they_write",
            ),
            Row(
                "SetDiscriminant", "the tag, or the niche, as the layout says", f"{_ENUMS}::test_direct_tag_of_128_bits"
            ),
            Row("Storage", "nothing: LLVM finds lifetimes itself", f"{_RARE}::test_storage_marks_are_nothing"),
            Row("Assume", "`llvm.assume`", f"{_CORE}::test_assume"),
            Row("CopyNonoverlapping", "`llvm.memcpy`", f"{_CORE}::test_copy_nonoverlapping"),
            *_rows(
                f"{_CORE}::test_unknown_statements_are_refused_and_known_ones_ignored",
                ("Ignored", "nothing: `nop`, `Retag`, `Coverage`, `PlaceMention` and their like"),
                ("Ignored", "a statement that mirgen does not know", "MG0332"),
            ),
        ),
        "Terminators": (
            Row("Goto", "a branch", f"{_CORE}::test_a_128_bit_switch_looks_at_all_bits"),
            Row(
                "SwitchInt", "a branch or a switch, at every width", f"{_CORE}::test_a_128_bit_switch_looks_at_all_bits"
            ),
            Row(
                "Return",
                "values in registers, others through the caller's pointer",
                f"{_CALLS}::test_identity_of_every_form",
            ),
            Row("Unreachable", "`unreachable`", f"{_ENUMS}::test_switch_on_a_copy_of_an_enum"),
            Row(
                "Resume",
                "stands where unwinding leads, which a panic never does",
                f"{_RARE}::test_unwinding_is_left_out",
                IMPOSSIBLE,
            ),
            Row(
                "Call",
                "functions, function pointers, closures, intrinsics, panics",
                f"{_CALLS}::test_pointers_chosen_at_run_time",
            ),
            Row(
                "Call",
                "a function whose body no crate holds",
                f"{_CALLS}::test_missing_bodies_are_refused_with_the_chain",
                "MG0341",
            ),
            *_rows(
                f"{_CORE}::test_inert_types_need_no_glue",
                ("Drop", "a call of the type's drop glue where it needs to be dropped"),
                ("Drop", "glue that is not in rustc's text", "MG0350"),
            ),
            Row("Assert", "a branch to a panic site", f"{_PANICS}::test_expected_false"),
            *_rows(
                f"{_CORE}::test_refused_terminators",
                ("TailCall", "`become`", "MG0345"),
                ("InlineAsm", "inline assembly", "MG0334"),
                ("UnsupportedTerminator", "`yield` and what rustc may add", "MG0333"),
            ),
        ),
        "Places": (
            Row(
                "Deref",
                "a pointer's place, with metadata where it is wide",
                f"{_PLACES}::test_references_to_references",
            ),
            Row(
                "Field",
                "rustc's offset; in registers where the value is a scalar or a pair",
                f"{_PLACES}::test_fields_of_structs",
            ),
            Row("Downcast", "the variant's own layout", f"{_ENUMS}::test_bool_payload_of_a_wider_tag"),
            Row("Index", "an address by the element's size", f"{_PLACES}::test_arrays_of_structs"),
            Row(
                "ConstantIndex", "from the front or the end", f"{_PLACES}::test_constant_index_from_the_end_of_a_slice"
            ),
            Row("Subslice", "of arrays and slices", f"{_PLACES}::test_subslices_of_arrays"),
            Row("OpaqueCast", "the same place as another type", f"{_RARE}::test_types_of_one_representation"),
        ),
        "Operands": (
            Row("Copy", "a load, or the value itself", f"{_CORE}::test_copy_nonoverlapping"),
            Row(
                "Move",
                "as `Copy`; a call's argument in memory is handed over",
                f"{_ENUMS}::test_variants_with_payloads_of_different_types",
            ),
            Row("Constant", "see the constants", f"{_CONSTANTS}::test_scalars"),
            *_rows(
                f"{_CORE}::test_overflow_checks_have_no_value_in_the_text",
                ("RuntimeChecks", "`UbChecks` and `ContractChecks` are off"),
                ("RuntimeChecks", "`OverflowChecks`, whose value is not in the text", "MG0320"),
            ),
        ),
        "Constants": (
            Row("ScalarConst", "every bit as it is, NaNs included", f"{_CONSTANTS}::test_scalars"),
            Row("ScalarConst", "bits that no `bool` or `char` has", f"{_CONSTANTS}::test_refusals", "MG0366"),
            Row(
                "PointerConst",
                "an address in a global, also of its middle",
                f"{_CONSTANTS}::test_pointers_into_the_middle",
            ),
            Row("ZstConst", "nothing", f"{_CONSTANTS}::test_zero_sized"),
            Row("SliceConst", "an address and a length", f"{_CONSTANTS}::test_strings_and_slices"),
            Row("IndirectConst", "a load from a global", f"{_CONSTANTS}::test_constants_by_reference"),
            Row(
                "UnevaluatedConst",
                "what rustc said when it was asked",
                f"{_CONSTANTS}::test_constants_that_were_looked_up",
            ),
            Row("UnevaluatedConst", "a value that rustc did not say", f"{_CONSTANTS}::test_refusals", "MG0361"),
            Row("TyConst", "a const generic's value", f"{_CONSTANTS}::test_constants_that_were_looked_up"),
            Row("TyConst", "a const generic that is not one number", f"{_CONSTANTS}::test_refusals", "MG0362"),
        ),
        "What constants point at": (
            Row(
                "MemoryAlloc",
                "a global: bytes, and pointers with their offsets",
                f"{_CONSTANTS}::test_allocations_point_at_each_other",
            ),
            Row("MemoryAlloc", "single bytes of a pointer", f"{_CONSTANTS}::test_refusals", "MG0364"),
            Row(
                "MemoryAlloc",
                "on the GPU, constants that point at each other in a circle",
                f"{_CONSTANTS}::test_a_circle_of_constants_has_no_form_in_ptx",
                "MG0365",
            ),
            Row("FnAlloc", "a function's address", f"{_CONSTANTS}::test_function_pointers_in_tables"),
            Row("FnAlloc", "a function whose body no crate holds", f"{_CONSTANTS}::test_refusals", "MG0344"),
            Row(
                "OtherAlloc", "rustc's own vtables, type ids, extern statics", f"{_CONSTANTS}::test_refusals", "MG0363"
            ),
        ),
        "Values": (
            Row("Use", "the operand", f"{_PLACES}::test_zero_sized_things_are_nothing"),
            Row("Repeat", "stores, a loop, or `llvm.memset`", f"{_CORE}::test_repeats"),
            Row(
                "Ref", "the place's address, with metadata where it is unsized", f"{_PLACES}::test_subslices_of_arrays"
            ),
            Row("RawPtr", "as `Ref`", f"{_PLACES}::test_over_aligned_structs"),
            Row("ThreadLocalRef", "thread-local statics", f"{_RARE}::test_thread_locals_are_refused", "MG0331"),
            Row("Cast", "see the casts", f"{_CAST}::test_int_to_int"),
            Row("BinaryOp", "see the operators", f"{_ARITH}::test_integers"),
            Row("UnaryOp", "see the operators", f"{_ARITH}::test_integers"),
            Row("Discriminant", "from the tag or the niche", f"{_ENUMS}::test_many_niche_values"),
            Row("CopyForDeref", "the pointer in a place", f"{_RARE}::test_copies_to_dereference"),
            Row("ArrayAggregate", "element by element", f"{_CORE}::test_nested_aggregates"),
            Row(
                "TupleAggregate",
                "field by field; all operands are read first",
                f"{_CORE}::test_aggregates_read_everything_before_they_write",
            ),
            Row(
                "AdtAggregate",
                "fields and tag; unions too",
                f"{_ENUMS}::test_variants_with_payloads_of_different_types",
            ),
            *_rows(
                f"{_CORE}::test_lost_closure_operands_are_refused",
                ("ClosureAggregate", "its captures, field by field"),
                ("ClosureAggregate", "captures that rustc's text lost", "MG0330"),
            ),
            Row("RawPtrAggregate", "a pointer and its metadata", f"{_CORE}::test_wide_pointers_from_parts"),
            Row("WrapBinder", "the operand", f"{_RARE}::test_types_of_one_representation"),
        ),
        "Operators": (
            *_rows(
                f"{_ARITH}::test_integers",
                ("Add", "wraps; floats as IEEE 754 says"),
                ("Sub", "wraps"),
                ("Mul", "wraps"),
                ("Div", "towards zero; spelled out at 128 bits"),
                ("Rem", "with the sign of the first operand; of floats exactly"),
                ("AddUnchecked", "`nuw` or `nsw`"),
                ("SubUnchecked", "`nuw` or `nsw`"),
                ("AddWithOverflow", "the wrapped sum, and whether it is that"),
                ("SubWithOverflow", "the wrapped difference, and whether it is that"),
                ("MulWithOverflow", "the wrapped product, and whether it is that"),
                ("BitAnd", "integers and `bool`"),
                ("BitOr", "integers and `bool`"),
                ("BitXor", "integers and `bool`"),
                ("Shl", "the amount modulo the width"),
                ("Shr", "the amount modulo the width; arithmetic for signed types"),
                ("ShlUnchecked", "the amount as it is"),
                ("ShrUnchecked", "the amount as it is"),
                ("Eq", "integers, `bool`, `char`, floats, pointers, wide pointers, units"),
                ("Ne", "as `Eq`; true for NaN"),
                ("Lt", "as `Eq`"),
                ("Le", "as `Eq`"),
                ("Gt", "as `Eq`"),
                ("Ge", "as `Eq`"),
                ("Cmp", "-1, 0 or 1"),
                ("Not", "all bits, or the one of `bool`"),
                ("Neg", "wraps; of floats the sign bit"),
            ),
            Row("MulUnchecked", "`nuw` or `nsw`", f"{_RARE}::test_unchecked_multiplication"),
            Row("Offset", "`getelementptr inbounds`", "intrinsics/test_memory.py::test_overlapping_copy"),
            Row("PtrMetadata", "length, table or nothing", f"{_CAST}::test_arrays_become_slices"),
        ),
        "Casts": (
            Row(
                "IntToInt",
                "truncated, or extended by the source's sign; `bool`, `char` and enums too",
                f"{_CAST}::test_int_to_int",
            ),
            *_rows(
                f"{_CAST}::test_numbers",
                ("IntToFloat", "to the nearest, ties to even"),
                ("FloatToInt", "towards zero, saturated; NaN is 0"),
                ("FloatToFloat", "to the nearest"),
            ),
            *_rows(
                f"{_CAST}::test_pointers",
                ("PtrToPtr", "the address; metadata goes where the target has none"),
                ("PointerExposeProvenance", "`ptrtoint`"),
                ("PointerWithExposedProvenance", "`inttoptr`"),
                ("PointerCoercion(MutToConstPointer)", "the pointer"),
                ("PointerCoercion(ArrayToPointer)", "the pointer"),
            ),
            *_rows(
                f"{_CAST}::test_functions_become_pointers",
                ("FnPtrToPtr", "the address"),
                ("PointerCoercion(ReifyFnPointer)", "the function's address"),
                ("PointerCoercion(UnsafeFnPointer)", "the pointer"),
            ),
            Row(
                "PointerCoercion(ClosureFnPointer)",
                "the address of a function that supplies the closure",
                f"{_CALLS}::test_closure_as_function_pointer",
            ),
            Row(
                "PointerCoercion(NeverCalled)",
                "null: a function pointer that no code calls",
                f"{_RARE}::test_pointers_that_are_never_called",
            ),
            Row(
                "PointerCoercion(Unsize)", "an array's length, or a type's table", f"{_CAST}::test_arrays_become_slices"
            ),
            Row(
                "PointerCoercion(Unsize)",
                "pointers whose types do not show the metadata",
                f"{_CORE}::test_unsizing_that_the_types_do_not_show",
                "MG0353",
            ),
            Row(
                "PointerCoercion(Unsize)",
                "a trait object in the last field of a packed struct",
                f"{_OBJECTS}::test_a_packed_structs_last_field_is_refused",
                "MG0310",
            ),
            Row(
                "Transmute",
                "the same bytes, in registers where both forms allow it",
                f"{_CAST}::test_transmute_keeps_the_bytes",
            ),
            Row("Subtype", "the same bytes", f"{_RARE}::test_types_of_one_representation"),
            Row("Cast", "a kind that mirgen does not know", f"{_CAST}::test_refusals", "MG0351"),
        ),
        "Assertions": _rows(
            f"{_PANICS}::test_assertions",
            ("index out of bounds: the length is {} but the index is {}", "with both numbers"),
            ("attempt to compute `{} + {}`, which would overflow", "`attempt to add with overflow`"),
            ("attempt to compute `{} - {}`, which would overflow", "`attempt to subtract with overflow`"),
            ("attempt to compute `{} * {}`, which would overflow", "`attempt to multiply with overflow`"),
            ("attempt to compute `{} / {}`, which would overflow", "`attempt to divide with overflow`"),
            (
                "attempt to compute the remainder of `{} % {}`, which would overflow",
                "`attempt to calculate the remainder with overflow`",
            ),
            ("attempt to negate `{}`, which would overflow", "`attempt to negate with overflow`"),
            ("attempt to shift right by `{}`, which would overflow", "`attempt to shift right with overflow`"),
            ("attempt to shift left by `{}`, which would overflow", "`attempt to shift left with overflow`"),
            ("attempt to divide `{}` by zero", "`attempt to divide by zero`"),
            ("attempt to calculate the remainder of `{}` with a divisor of zero", "`.. with a divisor of zero`"),
            ("misaligned pointer dereference: address must be a multiple of {} but is {}", "with both numbers"),
            ("null pointer dereference occurred", "the same text"),
            ("trying to construct an enum from an invalid value {}", "with the value"),
        ),
        "Types": (
            Row("IntTy", "8 to 128 bits", f"{_ARITH}::test_integers"),
            Row("f16", "held as `half`", f"{_RARE}::test_half_precision"),
            Row("f32", "IEEE 754, no fast-math", f"{_ARITH}::test_floats"),
            Row("f64", "IEEE 754, no fast-math", f"{_ARITH}::test_floats"),
            Row("f128", "no GPU has it", f"{_ARITH}::test_what_no_gpu_has_is_refused", "MG0354"),
            Row("BoolTy", "one bit in registers, a byte in memory", f"{_ARITH}::test_bool_and_char"),
            Row("CharTy", "32 bits", f"{_ARITH}::test_bool_and_char"),
            Row("StrTy", "bytes; its length is in the pointer", f"{_CONSTANTS}::test_strings_and_slices"),
            Row("NeverTy", "no value", f"{_PANICS}::test_functions_with_fixed_messages"),
            Row("TupleTy", "rustc's layout", f"{_CORE}::test_aggregates_read_everything_before_they_write"),
            Row("PointerTy", "references and raw pointers, thin and wide", f"{_ARITH}::test_pointers"),
            Row("ArrayTy", "elements one behind the other", f"{_PLACES}::test_arrays_of_structs"),
            Row("SliceTy", "its length is in the pointer", f"{_PLACES}::test_constant_index_from_the_end_of_a_slice"),
            Row("AdtTy", "structs, enums and unions by rustc's layout", f"{_PLACES}::test_unions"),
            Row("FnPtrTy", "an address", f"{_CALLS}::test_pointers_chosen_at_run_time"),
            Row("FnDefTy", "nothing at run time", f"{_CALLS}::test_function_items_and_pointers_through_fn_once"),
            Row("ClosureTy", "its captures", f"{_CALLS}::test_closures_through_the_fn_traits"),
            Row(
                "CoroutineTy",
                "its captures, and its states as an enum's variants",
                "lower/test_coroutines.py::test_it_begins_in_its_first_state",
            ),
            Row("DynTy", "its table is in the pointer", f"{_OBJECTS}::test_calls_through_tables"),
            Row(
                "UnsupportedTy",
                "types whose layout rustc was not asked for",
                f"{_RARE}::test_types_without_a_layout_are_refused",
                "MG0301",
            ),
        ),
        "Intrinsics": (
            Row(
                "intrinsics of ints.py",
                "bits, overflow, saturation, wide multiplication",
                "intrinsics/test_ints.py::test_arithmetic",
            ),
            Row(
                "intrinsics of floats.py",
                "rounding, fused operations, minimum and maximum, libm",
                "intrinsics/test_floats.py::test_exact",
            ),
            Row(
                "intrinsics of memory.py",
                "copies, fills, comparison, volatile accesses",
                "intrinsics/test_memory.py::test_single_values",
            ),
            Row(
                "intrinsics of pointers.py",
                "offsets, distances, metadata, sizes",
                "intrinsics/test_memory.py::test_pointers",
            ),
            Row(
                "intrinsics of control.py", "hints, endings, checks of types", "intrinsics/test_control.py::test_hints"
            ),
            Row(
                "intrinsics of control.py",
                "`catch_unwind`, variadic functions, constants' own",
                "intrinsics/test_control.py::test_refusals_name_the_intrinsic_and_its_place",
                "MG0376",
            ),
            Row(
                "intrinsics of calls.py",
                "`const_eval_select`, `caller_location`",
                "intrinsics/test_control.py::test_caller_location",
            ),
            Row(
                "intrinsics of atomics.py",
                "1 to 8 bytes, all orderings",
                "intrinsics/test_atomics.py::test_read_modify_write",
            ),
            Row(
                "intrinsics of atomics.py",
                "other sizes",
                "intrinsics/test_atomics.py::test_what_is_too_wide_is_refused",
                "MG0372",
            ),
            Row(
                "intrinsics of gpu.py",
                "indices, barriers, the device's mathematics",
                "intrinsics/test_control.py::test_device_externs",
            ),
            Row(
                "intrinsics of heap.py",
                "the device's heap, or the simulator's",
                "intrinsics/test_heap.py::test_memory_is_taken_moved_and_given_back",
            ),
            Row(
                "simd intrinsics",
                "portable SIMD",
                "intrinsics/test_control.py::test_refusals_name_the_intrinsic_and_its_place",
                "MG0377",
            ),
        ),
    }
)

#: The files of :mod:`mirgen.intrinsics` that hold tables.
GROUPS: Final = (ints, floats, memory, pointers, control, calls, atomics, gpu, heap)


# ---- names ---------------------------------------------------------------------------------------------------


def constructs_of(part: object) -> Iterator[str]:
    """The names of all constructs in a statement or terminator, itself included."""
    if isinstance(part, t.TyBase):
        yield from type_constructs(part)
        return
    match part:
        case r.Cast(cast):
            yield _cast(cast)
        case r.BinaryOp(op) | r.UnaryOp(op):
            yield op
        case s.Assert(message=message):
            yield message
        case _:
            pass
    if dataclasses.is_dataclass(part):
        yield type(part).__name__
        for each in _parts(part):
            yield from constructs_of(each)


def type_constructs(ty: t.TyBase) -> Iterator[str]:
    """The names of all types in ``ty``, and of the intrinsic that it names."""
    yield ty.text if isinstance(ty, t.FloatTy) else type(ty).__name__
    if isinstance(ty, t.FnDefTy):
        yield from _intrinsic(ty.path)
    for each in _parts(ty):
        if isinstance(each, t.TyBase):
            yield from type_constructs(each)


def alloc_constructs(program: m.Program, alloc: int, seen: frozenset[int] = frozenset()) -> Iterator[str]:
    """The names of an allocation and of those that it points at."""
    found = program.allocs.get(alloc)
    if found is None or alloc in seen:
        return
    yield type(found).__name__
    if isinstance(found, m.MemoryAlloc):
        for relocation in found.relocations:
            yield from alloc_constructs(program, relocation.alloc, seen | {alloc})


def _parts(of: object) -> Iterator[object]:
    if dataclasses.is_dataclass(of):
        for field in dataclasses.fields(of):
            value: object = getattr(of, field.name)
            if isinstance(value, tuple):
                yield from value  # pyright: ignore[reportUnknownVariableType]
            else:
                yield value


def _cast(cast: str) -> str:
    """A cast's kind, of a coercion without safety and origin."""
    head, _, rest = cast.partition("(")
    return f"{head}({rest.partition(',')[0].partition('(')[0]})" if rest else head


def _intrinsic(path: str) -> Iterator[str]:
    if find(path) is None:
        return
    name = strip_generics(path).rpartition("::")[2]
    if find(path) is control.SIMD:
        yield "simd intrinsics"
    elif name.startswith(gpu.RESERVED):
        yield "intrinsics of gpu.py"
    yield from (f"intrinsics of {group}" for group, names in _groups().items() if name in names)


@lru_cache(maxsize=1)
def _groups() -> Mapping[str, frozenset[str]]:
    return {f"{group.__name__.rpartition('.')[2]}.py": frozenset(group.table()) for group in GROUPS}


# ---- the page ------------------------------------------------------------------------------------------------

_HEAD = """\
# What MIR mirgen lowers

Every construct that MIR may hold where code runs, by its name in `mirgen/mir`. "no" is an error with the code that is
named, at the place in the source (`cargo mirgen explain CODE`). Each test, a path in `tests/`, reaches its construct.
Single intrinsics are in [intrinsics.md](intrinsics.md). `python -m mirgen.testing.constructs` prints this page.
"""


def document() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, rows in SECTIONS.items():
        lines = [f"## {title}", "", "| construct | supported | how, or what not | test |", "|---|---|---|---|"]
        lines += [f"| {_code(row.construct)} | {_support(row)} | {row.how} | `{row.test}` |" for row in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _support(row: Row) -> str:
    return {LOWERED: "yes", IMPOSSIBLE: "never runs"}.get(row.end, f"no: {row.end}")


if __name__ == "__main__":
    print(document(), end="")
