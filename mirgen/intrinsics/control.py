"""Control flow, hints to the optimiser, checks of types, and what never runs on a device."""

from __future__ import annotations

from mirgen.intrinsics.registry import Intrinsic, Table, refusal
from mirgen.intrinsics.support import argument, immediate, scalar, type_argument_layout
from mirgen.layout.data import ReprPair, ReprScalar
from mirgen.layout.data import Scalar as ScalarLayout
from mirgen.lower import types
from mirgen.lower.callsite import CallSite, Handler
from mirgen.lower.context import FunctionContext
from mirgen.lower.panic import lower_panic
from mirgen.lower.repr import reinterpret
from mirgen.lower.value import Value


def _nothing(fx: FunctionContext, call: CallSite) -> Value | None:
    return None


def _condition(fx: FunctionContext, call: CallSite) -> Value:
    """A hint about a condition, which passes through."""
    return scalar(call, immediate(fx, call, 0))


def _constant(value: int) -> Handler:
    def handler(fx: FunctionContext, call: CallSite) -> Value:
        return scalar(call, types.const_int(types.I1, value))

    return handler


def _assume(fx: FunctionContext, call: CallSite) -> Value | None:
    fx.b.call(fx.cx.declare("llvm.assume", types.VOID, (types.I1,)), [immediate(fx, call, 0)])
    return None


def _abort(fx: FunctionContext, call: CallSite) -> Value | None:
    fx.cx.target.trap(fx)
    return None


def _unreachable(fx: FunctionContext, call: CallSite) -> Value | None:
    """Undefined behaviour, as the user's ``unsafe`` block promised it never comes to."""
    fx.b.unreachable()
    return None


def _transmute(fx: FunctionContext, call: CallSite) -> Value | None:
    value = argument(fx, call, 0)
    if value.layout.size != call.result_layout.size:
        raise fx.internal(f"{call.path} from {value.layout.size} to {call.result_layout.size} bytes")
    return reinterpret(fx, value, call.result_layout)


def _assert_inhabited(fx: FunctionContext, call: CallSite) -> Value | None:
    """Panics where the type has no values."""
    if type_argument_layout(fx, call, 0).uninhabited:
        lower_panic(fx, f"attempted to instantiate uninhabited type of {call.path}", (), call.span)
    return None


def _size_of(fx: FunctionContext, call: CallSite) -> Value:
    return scalar(call, types.usize(type_argument_layout(fx, call, 0).size))


def _align_of(fx: FunctionContext, call: CallSite) -> Value:
    return scalar(call, types.usize(type_argument_layout(fx, call, 0).align))


def _assert_zero_valid(fx: FunctionContext, call: CallSite) -> Value | None:
    """Panics where zero is no value of the type, as far as its scalars show."""
    layout = type_argument_layout(fx, call, 0)
    match layout.repr:
        case ReprScalar(one):
            scalars = [one]
        case ReprPair(one, two, _):
            scalars = [one, two]
        case _:
            scalars = []
    if layout.uninhabited or not all(_admits_zero(one) for one in scalars):
        lower_panic(fx, f"attempted to zero-initialize a type that does not permit it: {call.path}", (), call.span)
    return None


def _admits_zero(scalar_layout: ScalarLayout) -> bool:
    """Whether zero lies in the valid range, which may wrap around."""
    start, end = scalar_layout.valid_start, scalar_layout.valid_end
    return start == 0 or start > end or not scalar_layout.initialized


_TYPE_CONSTANT = "rustc evaluates it in a constant; a call at run time cannot occur in optimised MIR"
_SIMD = "portable SIMD is not supported; the GPU runs one element a thread"


def table() -> Table:
    """The entries of this file."""
    entries = {
        "assume": Intrinsic(_assume, "`llvm.assume`"),
        "likely": Intrinsic(_condition, "hint, ignored"),
        "unlikely": Intrinsic(_condition, "hint, ignored"),
        "cold_path": Intrinsic(_nothing, "hint, ignored"),
        "forget": Intrinsic(_nothing),
        "breakpoint": Intrinsic(_nothing, "ignored"),
        "abort": Intrinsic(_abort, "trap"),
        "unreachable": Intrinsic(_unreachable),
        "transmute": Intrinsic(_transmute),
        "transmute_unchecked": Intrinsic(_transmute),
        "ub_checks": Intrinsic(_constant(0), "false"),
        "contract_checks": Intrinsic(_constant(0), "false"),
        "overflow_checks": Intrinsic(_constant(0), "false"),
        "is_val_statically_known": Intrinsic(_constant(0), "false"),
        "assert_inhabited": Intrinsic(_assert_inhabited),
        "assert_zero_valid": Intrinsic(_assert_zero_valid, "checks scalars; aggregates only for having values"),
        "size_of": Intrinsic(_size_of),
        "align_of": Intrinsic(_align_of),
        "min_align_of": Intrinsic(_align_of),
        "pref_align_of": Intrinsic(_align_of, "as `align_of`"),
        "assert_mem_uninitialized_valid": Intrinsic(_assert_inhabited, "checks that the type has values"),
        "prefetch_read_data": Intrinsic(_nothing, "hint, ignored"),
        "prefetch_write_data": Intrinsic(_nothing, "hint, ignored"),
        "prefetch_read_instruction": Intrinsic(_nothing, "hint, ignored"),
        "prefetch_write_instruction": Intrinsic(_nothing, "hint, ignored"),
        "catch_unwind": refusal("MG0375", "panics end the kernel; nothing can catch them"),
        "va_start": refusal("MG0343", "variadic functions do not exist on the device"),
        "va_arg": refusal("MG0343", "variadic functions do not exist on the device"),
        "va_copy": refusal("MG0343", "variadic functions do not exist on the device"),
        "va_end": refusal("MG0343", "variadic functions do not exist on the device"),
        "autodiff": refusal("MG0370", "automatic differentiation needs rustc's own code generator"),
        "offload": refusal("MG0370", "offloading needs rustc's own code generator"),
        "amdgpu_dispatch_ptr": refusal("MG0370", "it belongs to another GPU"),
    }
    for name in (
        "needs_drop", "type_id", "type_id_eq", "type_id_vtable", "type_name", "type_of", "variant_count",
        "offset_of", "field_offset", "const_allocate", "const_deallocate", "const_make_global",
    ):  # fmt: skip
        entries[name] = refusal("MG0376", _TYPE_CONSTANT)
    return entries


SIMD = refusal("MG0377", _SIMD)
