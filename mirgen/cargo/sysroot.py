"""``core`` and ``alloc`` for nvptx64, compiled once per toolchain from its own library sources.

The metadata keeps MIR of every function (``-Zalways-encode-mir``), so that core's non-inline functions can be dumped
like any dependency's.  Only metadata is made (about 20 s on two cores): mirgen generates all code itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from mirgen.cargo.hoist import hoisted
from mirgen.cargo.lock import locked
from mirgen.cargo.openable import mended, openable, with_stability
from mirgen.cargo.overlay import TRAIT_MARK, Private, make_overlay, shares_its_name
from mirgen.cargo.toolchain import NVPTX_TARGET, Toolchain, cache_dir
from mirgen.errors import ToolError
from mirgen.link.files import write_atomic

_FLAGS = (
    "-Copt-level=3", "-Cpanic=abort", "-Zalways-encode-mir", "-Zinline-mir", "-Zmir-enable-passes=-JumpThreading",
    "-Zforce-unstable-if-unmarked", "--cap-lints", "allow",
)  # fmt: skip
#: On the host core would choose its processor's SIMD for searching strings, where mirgen reads the portable way.
_NO_SIMD = "-Ctarget-feature=-sse2,-sse"
#: Raised when the flags, the set of crates or their records change, so that old caches are not taken for new ones.
_RECIPE = 9
#: A mark on a line of its own that keeps rustc from inlining, and what comes up to the function's body.
_NEVER_INLINED = re.compile(
    r"^[ \t]*#\[(?:inline\(never\)|cold)\][ \t]*$(?=(?P<head>[^{;]*?\bfn\b[^{;]*)[{;])", re.MULTILINE
)
#: An impl of a trait of `fmt` that a macro's argument names, up to the brace that ends it; and its methods' heads.
_MACRO_IMPL = re.compile(
    r"^(?P<indent>[ \t]+)impl fmt::\$(?P<trait>\w+) for [^\n{;]*\{\n.*?^(?P=indent)\}", re.MULTILINE | re.DOTALL
)
_LEFT_TO_LLVM = re.compile(r"^[ \t]*#\[rustc_no_mir_inline\][ \t]*$(?=[^{;]*\bdefault )", re.MULTILINE)
_METHOD = re.compile(r"^[ \t]+fn \w[^\n{;]*\{", re.MULTILINE)
#: How often a copy in which more may be named is mended before it is given up.
_MAX_TRIES = 8
_COMPILER_BUILTINS = "#![no_std]\n#![feature(compiler_builtins)]\n#![compiler_builtins]\n"
MISSING_SOURCES = (
    "library sources are not installed: `rustup component add rust-src`, or Debian's `rust-web-src` beside `rustc-web`"
)


def sysroot_path(toolchain: Toolchain, target: str = NVPTX_TARGET) -> Path:
    """Where the toolchain's own sysroot for ``target`` lies once built.

    What was built names the compiler and its sources by their places: the same toolchain elsewhere has another one.
    """
    place = hashlib.sha256(f"{toolchain.rustc}\0{toolchain.library}".encode()).hexdigest()[:8]
    return cache_dir() / "sysroots" / f"{toolchain.identity}-{place}-{target}-{_RECIPE}"


def built_sysroot(toolchain: Toolchain, target: str = NVPTX_TARGET) -> Path | None:
    """The sysroot built earlier by :func:`build_sysroot`, if any."""
    path = sysroot_path(toolchain, target)
    return path if (path / "complete").is_file() else None


def build_sysroot(
    toolchain: Toolchain, target: str = NVPTX_TARGET, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Compile ``core``, ``compiler_builtins`` (empty) and ``alloc`` for ``target``; no work where it was done.

    Raises:
        ToolError: no library sources, or rustc failed.
    """
    done = built_sysroot(toolchain, target)
    if done is not None:
        return done
    if toolchain.library is None:
        raise ToolError("rust-src", f"{MISSING_SOURCES} (looked in {toolchain.sysroot}/lib/rustlib/src/rust/library)")
    final = sysroot_path(toolchain, target)
    _build_once(toolchain, toolchain.library, target, final, progress)
    return final


def _build_in(
    toolchain: Toolchain, library: Path, target: str, final: Path, progress: Callable[[str], None],
    exposed: Sequence[Private],
) -> None:  # fmt: skip
    work = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        _compile_all(toolchain, library, target, work, final, progress, exposed)
        (work / "complete").touch()
        if final.exists():
            shutil.rmtree(final)
        work.rename(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def expose_standard(
    toolchain: Toolchain, items: Sequence[Private], target: str = NVPTX_TARGET,
    progress: Callable[[str], None] = lambda _: None,
) -> Path | None:  # fmt: skip
    """A sysroot from a copy of core in which ``items`` may be named, as far as they may be; built where it is missing.

    Its MIR is that of the plain one.  ``None`` where there is none: no sources, or a copy that does not compile.
    """
    exposed = _exposed_file(toolchain, target)
    # One at a time: who comes second finds all that the first has opened.
    with locked(exposed.with_name(f".{exposed.name}.lock")):
        return _expose(toolchain, items, target, progress)


def _expose(
    toolchain: Toolchain, items: Sequence[Private], target: str, progress: Callable[[str], None]
) -> Path | None:
    known = _listed(_exposed_file(toolchain, target))
    refused = _listed(_refused_file(toolchain, target))
    named = {(item.file, item.line) for item in (*known, *refused)}
    wanted = {
        with_stability(item) for item in items if (item.file, item.line) not in named and not shares_its_name(item)
    }
    if toolchain.library is None or built_sysroot(toolchain, target) is None:
        return None
    latest = _exposed_path(toolchain, target, known)
    if not wanted:
        return latest if (latest / "complete").is_file() else None
    # Each build takes its time: all that may be opened at once comes with the first.
    places = named | {(item.file, item.line) for item in wanted}
    sources = (toolchain.library / name / "src" for name in ("core", "alloc"))
    others = {i for source in sources for i in openable(source) if (i.file, i.line) not in places}
    for more in (wanted | others, wanted):
        built = _build_exposed(toolchain, toolchain.library, target, tuple(sorted({*known, *more})), wanted, progress)
        if built is None:
            continue
        final, every = built
        _list(_exposed_file(toolchain, target), every)
        opened = {(item.file, item.line) for item in every}
        _list(_refused_file(toolchain, target), (*refused, *(i for i in wanted if (i.file, i.line) not in opened)))
        return final
    return None


def _build_exposed(
    toolchain: Toolchain, library: Path, target: str, items: tuple[Private, ...], wanted: Collection[Private],
    progress: Callable[[str], None],
) -> tuple[Path, tuple[Private, ...]] | None:  # fmt: skip
    """A sysroot in which ``items`` may be named, and which of them that are: all that are ``wanted``, but for those
    that rustc itself finds fault with.  ``None`` where no such copy compiles."""
    for _ in range(_MAX_TRIES):
        final = _exposed_path(toolchain, target, items)
        try:
            _build_once(toolchain, library, target, final, progress, items)
        except ToolError as error:
            before = items
            items = mended(items, wanted, error.output)
            if items == before:
                items = mended(items, (), error.output)
            if items == before:
                return None
        else:
            return final, items
    return None


def _exposed_file(toolchain: Toolchain, target: str) -> Path:
    plain = sysroot_path(toolchain, target)
    return plain.with_name(f"{plain.name}-exposed.json")


def _refused_file(toolchain: Toolchain, target: str) -> Path:
    """What was wanted and cannot be opened: it is not tried again."""
    plain = sysroot_path(toolchain, target)
    return plain.with_name(f"{plain.name}-not-exposed.json")


def _list(file: Path, items: Iterable[Private]) -> None:
    write_atomic(file, json.dumps([[str(i.file), i.line, i.col, i.attribute] for i in items]).encode())


def _listed(file: Path) -> tuple[Private, ...]:
    entries: list[tuple[str, int, int, str]] = json.loads(file.read_bytes()) if file.is_file() else []
    return tuple(Private(Path(name), line, col, attribute) for name, line, col, attribute in entries)


def _exposed_path(toolchain: Toolchain, target: str, items: Sequence[Private]) -> Path:
    plain = sysroot_path(toolchain, target)
    return plain.with_name(f"{plain.name}-{hashlib.sha256(repr(items).encode()).hexdigest()[:12]}")


def _build_once(
    toolchain: Toolchain, library: Path, target: str, final: Path, progress: Callable[[str], None],
    exposed: Sequence[Private] = (),
) -> None:  # fmt: skip
    """Build ``final``, unless another process has by the time that it is this one's turn."""
    with locked(final.parent / f".{final.name}.lock"):
        if not (final / "complete").is_file():
            _build_in(toolchain, library, target, final, progress, exposed)


def inlinable(text: str) -> str:
    """A source file of alloc without the marks of functions that are ``#[inline(never)]`` or ``#[cold]``.

    They keep cold code out of hot code's way, which is nothing to the meaning; but rustc gives a generic function
    concrete arguments only where it inlines it.  What never returns stays marked: a panic is known by its function.
    ``alloc`` has few and short ones; core's are whole sorting algorithms, which would make callers immense.
    """
    return _NEVER_INLINED.sub(_unmarked, text)


def readable(text: str) -> str:
    """A source file of core that says enough.

    Where a macro implements traits that its arguments name, a constant in each of those methods has a type that says
    which trait it was: rustc's headers give the place in the macro only.  And generic functions that only LLVM is to
    inline (comparisons of slices) lose that mark, because a question about one is answered by its inlined body.
    """
    return _LEFT_TO_LLVM.sub(lambda mark: " " * len(mark[0]), _MACRO_IMPL.sub(_with_marks, text))


def _rewritten(source: Path, change: Callable[[str], str]) -> dict[Path, str]:
    """The files of a library that are built otherwise than they were written."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(source.rglob("*.rs"))}
    return {file: new for file, text in texts.items() if (new := hoisted(change(text))) != text}


def _with_marks(impl: re.Match[str]) -> str:
    """On the lines of the heads, so that everything else stays where it is."""
    mark = f" #[allow(dead_code)] const {TRAIT_MARK}: [Option<&dyn fmt::${impl['trait']}>; 1] = [None];"
    return _METHOD.sub(lambda head: head[0] + mark, impl[0])


def _unmarked(mark: re.Match[str]) -> str:
    """Blanks, so that everything else stays where it is."""
    return mark[0] if re.search(r"->\s*!", mark["head"]) else " " * len(mark[0])


def _compile_all(
    toolchain: Toolchain, library: Path, target: str, work: Path, final: Path, progress: Callable[[str], None],
    exposed: Sequence[Private],
) -> None:  # fmt: skip
    relative = Path("lib") / "rustlib" / target / "lib"
    (work / relative).mkdir(parents=True)
    (work / "units").mkdir()
    core, alloc = library / "core" / "src", library / "alloc" / "src"
    texts = {**_rewritten(core, readable), **_rewritten(alloc, inlinable)}
    builtins = work / "compiler_builtins.rs"
    builtins.write_text(_COMPILER_BUILTINS)
    crates = (
        ("core", "2024", library / "core" / "src" / "lib.rs"),
        ("compiler_builtins", "2021", builtins),
        ("alloc", "2024", library / "alloc" / "src" / "lib.rs"),
    )
    for name, edition, source in crates:
        progress(f"{name} for {target}")
        args = ["--crate-name", name, "--edition", edition, "--crate-type", "rlib", "--target", target, *_FLAGS]
        args += [_NO_SIMD] if target.startswith("x86_64-") else []
        found = ["--sysroot", str(work)] if name != "core" else []
        read, recorded, overlay = source, args, None
        if source.is_relative_to(library):
            copy = make_overlay(source, library, (), work / "sources", exposed, "pub", texts=texts)
            read, found = copy.root_file, [*found, f"--remap-path-prefix={copy.copy}={library}"]
            place = final / copy.copy.relative_to(work)
            recorded = [*args, f"--remap-path-prefix={place}={library}"]
            overlay = {
                "original_input": str(source),
                "original": str(source.parents[1]),
                "input": str(place / source.relative_to(library)),
                "copy": str(place / source.parents[1].relative_to(library)),
            }
        _run([str(toolchain.rustc), *args, *found, "--emit=metadata", "--out-dir", str(work / relative), str(read)])
        if name != "compiler_builtins":
            _record_unit(toolchain, name, recorded, source, target, work, final, relative, overlay)


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RUSTC_BOOTSTRAP": "1", "RUSTC_ICE": "0"},
    )
    if done.returncode != 0:
        raise ToolError(
            "rustc", "could not compile the standard library's sources", command=command, output=done.stderr,
            status=done.returncode,
        )  # fmt: skip


def _record_unit(
    toolchain: Toolchain, name: str, args: list[str], source: Path, target: str, work: Path, final: Path,
    relative: Path, overlay: dict[str, str] | None,
) -> None:  # fmt: skip
    """Write the unit as the wrapper would have, so that ``mirgen-rustc`` can dump core and ask about its types too.

    core itself needs no sysroot, but whoever asks about core's types does.
    """
    out = final / relative
    unit = {
        "schema": "mirgen-unit",
        "version": 1,
        "crate_name": name,
        "edition": "2024",
        "crate_types": ["rlib"],
        "target": target,
        "primary": False,
        "package": {"name": name, "version": toolchain.release, "manifest_dir": str(source.parents[1])},
        "rustc": str(toolchain.rustc),
        "cwd": str(final),
        "args": [*args, "--emit=metadata", "--out-dir", str(out), str(source) if overlay is None else overlay["input"]],
        "env": {},
        "sysroot": str(final),
        "overlay": overlay,
        "metadata": str(out / f"lib{name}.rmeta"),
        "dep_info": None,
    }
    (work / "units" / f"{name}.json").write_text(json.dumps(unit, indent=1))
