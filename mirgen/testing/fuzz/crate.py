"""Many programs in one crate: as a library with kernels for mirgen, and as a plain program for rustc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

#: Kernels: every program with many inputs, and what rustc computed of them.
RUN, CONSTANTS = "run", "constants"

_DEVICE: Final = Path(__file__).parents[2] / "_crates" / "device"

_ALLOW: Final = """\
#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals, long_running_const_eval)]
"""

_MANIFEST: Final = """\
[package]
name = "fuzzed"
version = "0.1.0"
edition = "2021"
publish = false

[dependencies]
mirgen-device = {{ path = "{device}" }}

[workspace]
"""

_LIBRARY: Final = """\
#![no_std]
{allow}
mod prelude;
{modules}
use mirgen_device::prelude::*;

{constants}
#[inline(never)]
fn dispatch(which: u32, x: u64) -> u64 {{
    match which {{
{programs}
        _ => 0,
    }}
}}

#[inline(never)]
fn constant(which: u32, index: usize) -> u64 {{
    match which {{
{known}
        _ => 0,
    }}
}}

#[kernel]
pub fn run(which: u32, xs: &[u64], mut out: Disjoint<[u64]>) {{
    let i = thread::index_1d();
    if let (Some(out), Some(&x)) = (out.get_mut(i), xs.get(i.get())) {{
        *out = dispatch(which, x);
    }}
}}

#[kernel]
pub fn constants(which: u32, mut out: Disjoint<[u64]>) {{
    let i = thread::index_1d();
    if let Some(out) = out.get_mut(i) {{
        *out = constant(which, i.get());
    }}
}}
"""

_NATIVE: Final = """\
{allow}
mod prelude;
{modules}
use std::sync::Mutex;

static SAID: Mutex<String> = Mutex::new(String::new());

fn said(what: &dyn std::fmt::Display, at: Option<&std::panic::Location<'_>>) {{
    let at = at.map_or((0, 0), |at| (at.line(), at.column()));
    *SAID.lock().unwrap() = format!("{{}} {{}} {{:?}}", at.0, at.1, what.to_string());
}}

fn show(program: usize, input: usize, run: fn(u64) -> u64, x: u64) {{
    match std::panic::catch_unwind(|| run(x)) {{
        Ok(value) => println!("{{program}} {{input}} value {{value}}"),
        Err(_) => println!("{{program}} {{input}} panic {{}}", SAID.lock().unwrap()),
    }}
}}

fn main() {{
    std::panic::set_hook(Box::new(|info| {{
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        said(&text, info.location());
    }}));
{calls}
}}
"""


def write_sources(folder: Path, sources: Mapping[int, str]) -> None:
    """The programs' modules and the prelude; others that lie there are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {module_file(index): text for index, text in sources.items()}
    wanted["prelude.rs"] = Path(__file__).with_name("prelude.rs").read_text()
    for path in folder.glob("p*.rs"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)


def module_file(index: int) -> str:
    """Where the program of this number stands."""
    return f"p{index}.rs"


def write_native(folder: Path, inputs: Mapping[int, Sequence[int]]) -> Path:
    """The program that runs all; rustc takes the file that is returned."""
    calls = [f"    show({index}, {at}, p{index}::run, {x});" for index, xs in inputs.items() for at, x in enumerate(xs)]
    text = _NATIVE.format(allow=_ALLOW, modules=_modules(inputs), calls="\n".join(calls))
    (folder / "native.rs").write_text(text)
    return folder / "native.rs"


def write_library(folder: Path, indices: Sequence[int], constants: Mapping[int, Sequence[int]]) -> Path:
    """The library; ``constants`` are the inputs for which rustc evaluates a program.  The path of its manifest."""
    statics = [
        f"static C{index}: [u64; {len(xs)}] = [{', '.join(f'p{index}::run({x})' for x in xs)}];"
        for index, xs in constants.items()
    ]
    text = _LIBRARY.format(
        allow=_ALLOW,
        modules=_modules(indices),
        constants="\n".join(statics),
        programs="\n".join(f"        {index} => p{index}::run(x)," for index in indices),
        known="\n".join(f"        {index} => C{index}[index % {len(xs)}]," for index, xs in constants.items()),
    )
    (folder / "lib.rs").write_text(text)
    manifest = folder.parent / "Cargo.toml"
    manifest.write_text(_MANIFEST.format(device=_DEVICE.resolve()))
    return manifest


def _modules(indices: Sequence[int] | Mapping[int, object]) -> str:
    return "\n".join(f"mod p{index};" for index in indices)
