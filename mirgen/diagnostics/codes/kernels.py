"""MG01xx: kernels and their parameters."""

from __future__ import annotations

from mirgen.diagnostics.codes.code import code

CODES = (
    code(
        "MG0101",
        "the crate has no kernel",
        """
        Nothing in the crate is marked `#[kernel]`, so there is nothing to compile.

            use mirgen_device::prelude::*;

            #[kernel]
            pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<[f32]>) {
                // ...
            }

        Kernels are found in the package's library, or in the binary or example named by `--bin` or `--example`. A
        kernel in a module that is not compiled (a feature that is off, a `#[cfg(..)]`) is not there either. Kernels of
        dependencies are not collected: call their code from a kernel of your own.
        """,
    ),
    code(
        "MG0102",
        "two kernels have one name",
        """
        A kernel's name is its entry point in the PTX module, where names are not divided into modules. Two kernels
        `a::step` and `b::step` would both be `step`: rename one of them.
        """,
    ),
    code(
        "MG0103",
        "no kernel of that name",
        """
        The command named a kernel that the crate does not have. Kernel names are plain function names, without the
        module path. The message lists those that exist.
        """,
    ),
)
