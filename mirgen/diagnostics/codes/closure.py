"""MG02xx: what a kernel reaches."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0201",
        "a kernel calls a function that has no body to compile",
        """
        Everything that a kernel calls has to be there as MIR. rustc inlines most of it into the kernel, generic code
        included; what it leaves as a call is looked up in the crate that defines it. This error names a call for
        which neither worked, with the chain of calls from the kernel and the reason:

        - The function is foreign (`extern "C"`), or a system call: the device has no such thing.
        - It is a non-inline function of the precompiled standard library (formatting, parsing, sorting). Its MIR is
          not shipped. With the sources (`rustup component add rust-src`), `cargo mirgen setup` compiles the library
          once for the device, and such functions can be compiled like your own.
        - It is generic and rustc did not inline it: `#[inline(never)]`, recursion, or too much code. Mark it
          `#[inline]`, or write the recursion as a loop.
        - It is a SIMD instruction of the host's processor, chosen because the crate was compiled for the host. Compile
          for `nvptx64-nvidia-cuda`, where the crate takes its portable path.
        """,
    ),
    code(
        "MG0202",
        "a kernel reaches a crate of which the build has several versions",
        """
        cargo may compile two versions of one crate into one program. rustc's text names both by the crate's name
        alone, so that a function or type of one could be taken for the other's. Where a kernel reaches such a crate
        and it is not certain which version is meant, nothing is compiled.

        `cargo tree --duplicates` shows who depends on which version. Let all crates that the kernel reaches depend on
        one; versions that no kernel reaches may stay as they are.
        """,
    ),
    code(
        "MG0203",
        "a kernel uses the heap, and a crate brings its own allocator",
        """
        `Box`, `Vec` and the like take their memory from CUDA's device heap (`malloc` in device code), on the simulator
        from a heap that checks what is given back. A `#[global_allocator]` says that memory shall come from somewhere
        else. mirgen does not use it, and does not ignore it either.

        Leave the allocator out of the build for the GPU: `#[cfg(not(target_arch = "nvptx64"))]`.
        """,
    ),
    code(
        "MG0204",
        "a kernel calls a compiler intrinsic that a crate declares itself",
        """
        The body of a `#[rustc_intrinsic]` function is what rustc falls back to where its code generator does not know
        the intrinsic; where it does, a call is something else, and the MIR does not say which.

        Call the function of `core` that stands for the intrinsic (`core::mem::size_of_val` for `size_of_val`).
        """,
    ),
)
