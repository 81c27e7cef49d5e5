"""MG036x, MG037x, MG04xx: constants, intrinsics, operations."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0361",
        "rustc did not evaluate a constant",
        """
        The MIR names a constant by its path and rustc did not print its value, as it does in code that is still
        generic. mirgen asks for the bytes of such constants in a crate of its own; that needs a path that can be
        named there.

        What to do: make the constant (and what leads to it) `pub`, or bind it to a `const` outside of generic code.
        """,
    ),
    code(
        "MG0362",
        "the value of a constant parameter is not known",
        """
        The function is generic over a constant (`const N: usize`) and was not compiled for one value of it. Call it
        from a function that is not generic and small enough to be inlined, or mark it `#[inline]`.
        """,
    ),
    code(
        "MG0363",
        "a constant refers to something that the device does not have",
        """
        A constant holds the address of a foreign static, of a type's identity, of memory that is gone, or of the table
        of a trait object whose type cannot be told from rustc's text (a closure's): make the object in a function
        instead. Foreign statics (`extern "C" { static X: .. }`) live in the host's process only: pass their value as an
        argument.
        """,
    ),
    code(
        "MG0364",
        "a constant holds a part of a pointer",
        """
        The bytes of a pointer stand at an odd place or are cut up, which no linker can fill in. Keep whole, aligned
        pointers in constants.
        """,
    ),
    code(
        "MG0365",
        "constants that point at each other in a circle",
        """
        PTX has no forward declaration for initialised variables, so constants and statics whose addresses form a
        circle cannot be written. Use indices instead of references.
        """,
    ),
    code(
        "MG0366",
        "a constant has bits that its type does not have",
        """
        rustc computed a value that is none of its type, such as a `bool` that is neither 0 nor 1, or a `char` that is
        no Unicode scalar value: a `transmute` or a union was read wrongly. Running it would be undefined behaviour.

        What to do: check the bits first (`char::from_u32`, a comparison), or use `MaybeUninit`.
        """,
    ),
    code(
        "MG0370",
        "a compiler intrinsic is not known",
        """
        The code reaches one of rustc's own intrinsics (`core::intrinsics::..`) that mirgen has no lowering for.
        Stable Rust reaches them through the standard library only: the message shows by which call. `docs/` lists
        those that are supported.
        """,
    ),
    code(
        "MG0371",
        "an atomic operation does not exist on the device",
        """
        PTX has atomic operations on integers of 8 to 64 bits and additions of floats; not every operation exists for
        every type. Use an integer of 32 or 64 bits, or a loop of `compare_exchange` on the value's bits.
        """,
    ),
    code(
        "MG0372",
        "an atomic value has a size that the device cannot handle at once",
        """
        Values of 1, 2, 4 and 8 bytes can be read and written as one. Put larger ones behind a lock of your own, or
        split them.
        """,
    ),
    code(
        "MG0373",
        "the distance of pointers to a zero-sized type",
        """
        `offset_from` divides by the size of the type, which is zero here. Compare the pointers instead.
        """,
    ),
    code(
        "MG0374",
        "the size of a value is not known on the device",
        """
        `size_of_val` works on slices, `str` and trait objects, and `align_of_val` too. On a struct whose last field is
        one of them (`struct S { a: u8, tail: [u16] }`) it is not supported: ask the field.
        """,
    ),
    code(
        "MG0375",
        "panics cannot be caught on the device",
        """
        A panic ends the kernel at once: nothing unwinds, so `catch_unwind` has nothing to catch. Return a `Result`,
        or write an error flag to memory that the host reads.
        """,
    ),
    code(
        "MG0376",
        "a property of a type was left to run time",
        """
        `size_of`, `type_id`, `type_name` and their like are constants that rustc evaluates for concrete types. A call
        of one was left in code that is still generic: make the function that uses it small enough to be inlined, or
        mark it `#[inline]`.
        """,
    ),
    code(
        "MG0377",
        "SIMD of the host's processor",
        """
        `core::arch` and `core::simd` are compiled to instructions of one processor. On the device every thread is a
        lane already: use the portable path of the crate. Many crates choose it by `cfg(target_arch)`, so compile for
        `nvptx64-nvidia-cuda` (`rustup target add nvptx64-nvidia-cuda`, or `cargo mirgen setup`).
        """,
    ),
    code(
        "MG0378",
        "an atomic operation does not have that ordering",
        """
        Loads are `Relaxed`, `Acquire` or `SeqCst`; stores are `Relaxed`, `Release` or `SeqCst`. rustc refuses other
        orderings where it sees them as constants.
        """,
    ),
    code(
        "MG0379",
        "where a call stands in the source is not known",
        """
        `Location::caller()` and functions that are `#[track_caller]` need the file and line of a call, and rustc's text
        has none for this one, as for calls that the compiler made itself. Call the function from code of your own.
        """,
    ),
    code(
        "MG0410",
        "the simulator does not have a mathematical function",
        """
        Mathematical functions of the device crate are NVIDIA's libdevice on the GPU, and the host's maths library in
        the simulator. A few of libdevice's have no counterpart there (`rsqrt` approximations, `normcdf`, Bessel
        functions of some orders): kernels that use them run on the GPU only.
        """,
    ),
)
