"""What panics say: the texts of MIR's assertions and of the standard library's panic functions.

Each is a Rust format string over unsigned numbers (see :mod:`mirgen.lower.panic`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: What an ``Assert`` terminator says and what rustc's code generator prints for it at run time.  Only the indices of a
#: bounds check and the addresses of a misaligned pointer are printed.
ASSERTS: Final[dict[str, str]] = {
    "index out of bounds: the length is {} but the index is {}": (
        "index out of bounds: the len is {} but the index is {}"
    ),
    "attempt to compute `{} + {}`, which would overflow": "attempt to add with overflow",
    "attempt to compute `{} - {}`, which would overflow": "attempt to subtract with overflow",
    "attempt to compute `{} * {}`, which would overflow": "attempt to multiply with overflow",
    "attempt to compute `{} / {}`, which would overflow": "attempt to divide with overflow",
    "attempt to compute the remainder of `{} % {}`, which would overflow": (
        "attempt to calculate the remainder with overflow"
    ),
    "attempt to negate `{}`, which would overflow": "attempt to negate with overflow",
    "attempt to shift right by `{}`, which would overflow": "attempt to shift right with overflow",
    "attempt to shift left by `{}`, which would overflow": "attempt to shift left with overflow",
    "attempt to divide `{}` by zero": "attempt to divide by zero",
    "attempt to calculate the remainder of `{}` with a divisor of zero": (
        "attempt to calculate the remainder with a divisor of zero"
    ),
    "misaligned pointer dereference: address must be a multiple of {} but is {}": (
        "misaligned pointer dereference: address must be a multiple of {:#x} but is {:#x}"
    ),
    "null pointer dereference occurred": "null pointer dereference occurred",
    "trying to construct an enum from an invalid value {}": "trying to construct an enum from an invalid value {:#x}",
}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A panic function whose message is always the same; ``args`` are the arguments that it prints."""

    message: str
    args: tuple[int, ...] = ()


#: Panic functions of the standard library with a message of their own, by path without generics.
_FIXED: Final[dict[str, Fixed]] = {
    "core::option::unwrap_failed": Fixed("called `Option::unwrap()` on a `None` value"),
    "core::panicking::panic_bounds_check": Fixed("index out of bounds: the len is {} but the index is {}", (1, 0)),
    "core::panicking::panic_misaligned_pointer_dereference": Fixed(
        "misaligned pointer dereference: address must be a multiple of {:#x} but is {:#x}", (0, 1)
    ),
    "core::panicking::panic_null_pointer_dereference": Fixed("null pointer dereference occurred"),
    "core::panicking::panic_invalid_enum_construction": Fixed(
        "trying to construct an enum from an invalid value {:#x}", (0,)
    ),
    "core::panicking::panic_cannot_unwind": Fixed("panic in a function that cannot unwind"),
    "core::panicking::panic_in_cleanup": Fixed("panic in a destructor during cleanup"),
    "core::panicking::panic_explicit": Fixed("explicit panic"),
    "core::slice::index::slice_start_index_len_fail": Fixed(
        "range start index {} out of range for slice of length {}", (0, 1)
    ),
    "core::slice::index::slice_end_index_len_fail": Fixed(
        "range end index {} out of range for slice of length {}", (0, 1)
    ),
    "core::slice::index::slice_index_order_fail": Fixed("slice index starts at {} but ends at {}", (0, 1)),
    "core::slice::index::slice_start_index_overflow_fail": Fixed("attempted to index slice from after maximum usize"),
    "core::slice::index::slice_end_index_overflow_fail": Fixed("attempted to index slice up to maximum usize"),
    "core::slice::copy_from_slice_impl::len_mismatch_fail": Fixed(
        "copy_from_slice: source slice length ({}) does not match destination slice length ({})", (1, 0)
    ),
    "core::num::imp::int_log10::panic_for_nonpositive_argument": Fixed(
        "argument of integer logarithm must be positive"
    ),
    "core::num::int_log10::panic_for_nonpositive_argument": Fixed("argument of integer logarithm must be positive"),
    "core::num::imp::int_sqrt::panic_for_negative_argument": Fixed(
        "argument of integer square root cannot be negative"
    ),
    "core::num::int_sqrt::panic_for_negative_argument": Fixed("argument of integer square root cannot be negative"),
    "core::slice::sort::shared::smallsort::panic_on_ord_violation": Fixed(
        "user-provided comparison function does not correctly implement a total order"
    ),
    "core::cell::lazy::panic_poisoned": Fixed("LazyCell instance has previously been poisoned"),
    "core::cell::panic_already_borrowed": Fixed("RefCell already borrowed"),
    "core::cell::panic_already_mutably_borrowed": Fixed("RefCell already mutably borrowed"),
    "core::num::from_ascii_radix_panic": Fixed("from_ascii_radix: radix must lie in the range `[2, 36]`"),
    "core::char::methods::encode_utf8_raw::do_panic": Fixed("encode_utf8: buffer does not have enough bytes"),
    "alloc::raw_vec::capacity_overflow": Fixed("capacity overflow"),
    "alloc::alloc::handle_alloc_error": Fixed("memory allocation failed"),
}

#: Arithmetic: the ends of ``panic_const_<name>``, and what they say.
_ARITHMETIC: Final[dict[str, str]] = {
    "add_overflow": "attempt to add with overflow",
    "sub_overflow": "attempt to subtract with overflow",
    "mul_overflow": "attempt to multiply with overflow",
    "div_overflow": "attempt to divide with overflow",
    "rem_overflow": "attempt to calculate the remainder with overflow",
    "neg_overflow": "attempt to negate with overflow",
    "shr_overflow": "attempt to shift right with overflow",
    "shl_overflow": "attempt to shift left with overflow",
    "div_by_zero": "attempt to divide by zero",
    "rem_by_zero": "attempt to calculate the remainder with a divisor of zero",
}
_CONST_PANIC: Final = "core::panicking::panic_const::panic_const_"
_OVERFLOW_PANICS: Final = ("core::num::overflow_panic::", "core::num::imp::overflow_panic::")


def fixed_message(path: str) -> Fixed | None:
    """The message of a panic function that always says the same; ``path`` without generics and in ``core::``."""
    if path.startswith(_CONST_PANIC):
        text = _ARITHMETIC.get(path.removeprefix(_CONST_PANIC))
        return None if text is None else Fixed(text)
    for prefix in _OVERFLOW_PANICS:
        if path.startswith(prefix):
            text = _ARITHMETIC.get(path.removeprefix(prefix) + "_overflow")
            return None if text is None else Fixed(text)
    return _FIXED.get(path)
