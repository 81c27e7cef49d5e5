"""What to tell the user about a function that rustc gave no body for."""

from __future__ import annotations

from mirgen.cargo.build import CargoBuild
from mirgen.cargo.closure import Unresolved
from mirgen.cargo.toolchain import NVPTX_TARGET
from mirgen.errors import Diagnostic
from mirgen.mir.names import readable

_REASONS = {
    "generic": (
        "it is generic, and rustc left the call instead of inlining it (recursion, `#[inline(never)]`, or size)",
        "mark it `#[inline]`, remove the recursion, or call it from a non-generic function of its own crate",
    ),
    "glue": (
        "it runs when a value is dropped, and rustc cannot be asked for it (its name holds a closure or private type)",
        "use a type without `Drop`, or `core::mem::ManuallyDrop`",
    ),
    "ambiguous": (
        "several bodies in its crate fit the call and rustc's text does not say which",
        "mark the function `#[inline]`, so that rustc substitutes the right body itself",
    ),
    "simd": (
        "it is a SIMD instruction of the host's processor, which the crate chose because it is compiled for the host",
        f"compile for the GPU instead: `rustup target add {NVPTX_TARGET}`, or install rust-src and run "
        "`cargo mirgen setup`; then the crate takes its portable path",
    ),
    "precompiled": (
        "it is a function of the precompiled standard library that is not inlined: the toolchain does not ship its MIR",
        "needs rust-src: `rustup component add rust-src` (Debian: `rust-web-src`), then `cargo mirgen setup`",
    ),
    "with_std": (
        "it is a function of the standard library that is not inlined, and the crate or a dependency of it uses `std`, "
        "of which mirgen builds core and alloc only",
        "make them `#![no_std]` (a dependency's feature `std` is often a default one: `default-features = false`)",
    ),
    "dyn": (
        "it is called on a trait object in a way that is not understood (its receiver, or what it takes and gives)",
        "make the function generic over the trait (`impl Trait`, `<T: Trait>`), or use an enum of the types",
    ),
    "table": (
        "it is called on a trait object, and rustc cannot be asked whether the object's table holds it",
        "call the method through a trait object of its own trait, or make the function generic over the trait",
    ),
    "object": (
        "a trait object's table needs it, and rustc gave no body that it could be",
        "mark the implementation `#[inline]`, or make the function that takes the object generic over the trait",
    ),
    "trait": (
        "which implementation this trait call means was not printed by rustc",
        "mark the implementation `#[inline]`",
    ),
    "address": (
        "a constant holds its address and no body of that name is in this crate's dump",
        "call it directly instead of through a function pointer",
    ),
    "unknown": (
        "no crate of this build has a body for it (a foreign function?)",
        "a kernel can call Rust functions and mirgen's device library only",
    ),
}  # fmt: skip


#: Reasons that are the same whether a trait object's table or a call needs the function.
_ALWAYS = frozenset({"precompiled", "with_std", "simd", "glue", "dyn", "table"})


def unresolved_diagnostic(
    kernel: str, unresolved: Unresolved, build: CargoBuild, in_the_way: str | None = None
) -> Diagnostic:
    """One error: the function, the chain from the kernel, the reason, what to do; and what was ``in_the_way`` where its
    generic body was at hand."""
    from mirgen.diagnostics import user_location

    tag = _reason(unresolved, build)
    reason, help_text = _REASONS[tag]
    chain = " -> ".join(readable(name) for name in unresolved.reached.chain())
    where = user_location(unresolved.reached.body, unresolved.source)
    return Diagnostic(
        code="MG0310" if tag in ("dyn", "table", "object") else "MG0201",
        message=f"kernel `{kernel}` calls `{readable(unresolved.path)}`, which has no body to compile",
        location=where,
        label="called from here",
        notes=[
            reason,
            *([f"its generic body could not be made concrete: {in_the_way}"] if in_the_way else []),
            f"reached from kernel {kernel}: {chain}",
        ],
        helps=[help_text],
    )


def _reason(unresolved: Unresolved, build: CargoBuild) -> str:
    """The key of the reason: a generic function of a library without MIR is the library's lack."""
    has_core = any(unit.crate_name == "core" for unit in build.units)
    if unresolved.reason not in ("generic", "precompiled") or not unresolved.is_standard or has_core:
        return "object" if unresolved.reached.is_made and unresolved.reason not in _ALWAYS else unresolved.reason
    with_std = build.target == build.toolchain.host and build.toolchain.library is not None
    return "with_std" if with_std else "precompiled"
