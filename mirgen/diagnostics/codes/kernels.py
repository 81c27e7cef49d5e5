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
    code(
        "MG0104",
        "a kernel divides an array, and not all threads might do so alike",
        """
        `Disjoint::by_chunks`, `by_blocks` and `as_matrix` decide which elements of an array belong to which thread. If
        one thread divided an array into chunks of four and another left it as it was, both would own the same element:
        a data race. So every thread of the grid has to come to the same division, with the same array and width.

            let mut y = y.as_matrix(width as usize);       // first, with a width from a parameter
            let at = thread::index_2d();
            if let Some(y) = y.get_mut(at) {
                // ...
            }

        mirgen proves it where the division stands before any branch on a thread's index, on an atomic's result or on
        data from memory, in the kernel or in a function that is called once. Where the parameter can have its division
        in its type, `Disjoint<[u8], Chunks<4>>` or `Disjoint<[f32], Blocks>`, there is nothing to prove.
        """,
    ),
    code(
        "MG0105",
        "a barrier that some threads of a block might not reach",
        """
        At `block::barrier()` and `block::sync(..)` every thread of a block waits for all others. Where some of them
        take another way, those that wait may wait forever. This is a warning: mirgen found a branch between the start
        of the kernel and the barrier whose condition may differ between threads of a block, and no place before the
        barrier where they meet again.

            if block::thread().get() < 32 {
                block::barrier();                  // the other threads never come here
            }

        A condition differs where it is computed from a thread's index, from an atomic's result or from memory. Move the
        barrier behind the branch, so that the condition guards only the work between two barriers; let loops around
        barriers run as often in every thread, up to a parameter or a constant. An early `return` before a barrier is
        such a branch too. A panic is none: it ends the whole grid.

        The simulator stops a launch in which the threads really part, and says which of them wait where.
        """,
    ),
)
