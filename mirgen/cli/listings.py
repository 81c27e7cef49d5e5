"""What ``asm`` shows: the text of one stage, from a build's artefacts or, with Rust lines, compiled anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from mirgen.errors import InvalidInputError, UnsupportedError
from mirgen.link import Codegen, Worker, assemble, compile_ptx, find_arch, find_tool, require_tool
from mirgen.link.manifest import Artifact, Resources
from mirgen.lower import lower_program
from mirgen.mir.printer import format_program
from mirgen.pipeline import BuildOptions, Progress, build, read_program
from mirgen.view import Item, disassemble, llvm_items, mir_items, ptx_items, sass_items
from mirgen.view.llvmir import at_users_lines

_T = TypeVar("_T")

View = Literal["sass", "ptx", "llvm", "llvm-input", "mir"]

#: What starts a comment in each text.
COMMENT: dict[View, str] = {"sass": "//", "ptx": "//", "llvm": ";", "llvm-input": ";", "mir": "//"}


@dataclass(frozen=True, slots=True)
class Listing:
    """``items`` are the functions that can be shown, ``text`` everything; ``resources`` by kernel, where known."""

    items: tuple[Item, ...]
    text: str
    arch: str = ""
    resources: dict[str, Resources] | None = None


@dataclass(frozen=True, slots=True)
class _Code:
    """The stages' results for one architecture; what a view does not need is empty."""

    kernels: tuple[str, ...]
    llvm_input: str
    llvm: str
    ptx: str
    cubin: bytes
    resources: dict[str, Resources] | None


def make_listing(options: BuildOptions, view: View, kernel: str | None, progress: Progress, *, rust: bool) -> Listing:
    """The view of the crate that ``options`` select, for the first of their architectures; ``rust`` asks for the
    lines' sources.  Where another kernel than ``kernel`` is refused, that one alone is compiled.

    Raises:
        MirgenError: whatever a build raises; a disassembler or assembler that SASS needs is missing.
    """
    _check_tools(options, view)
    return alone_if_need_be(lambda some: _make(some, view, progress, rust=rust), options, kernel, progress)


def alone_if_need_be(
    action: Callable[[BuildOptions], _T], options: BuildOptions, kernel: str | None, progress: Progress
) -> _T:
    """What ``action`` makes of the whole crate; where the crate is refused, of ``kernel`` alone, if it is one.

    Raises:
        UnsupportedError: ``kernel`` itself is refused, or none was named.
    """
    try:
        return action(options)
    except UnsupportedError as refusal:
        if kernel is None or options.kernels:
            raise
        try:
            result = action(replace(options, kernels=(kernel,)))
        except UnsupportedError as own:
            raise (refusal if any(d.code == "MG0103" for d in own.diagnostics) else own) from None
    progress.status(
        "Warning", f"other kernels of the crate are refused (see `cargo mirgen check`): only `{kernel}` is compiled"
    )
    return result


def _check_tools(options: BuildOptions, view: View) -> None:
    """Refuses a view that cannot be made before anything is compiled."""
    if view == "sass":
        require_tool("nvdisasm")
        if find_tool("nvjitlink") is None or options.assembler == "ptxas":
            require_tool("ptxas")
        if options.assembler == "none":
            raise InvalidInputError("there is no SASS without an assembler", "--assembler none")
    if view == "llvm" and options.codegen == "nvvm":
        raise InvalidInputError("libNVVM does not show its optimised IR; see --llvm-input, or --codegen llvm")


def _make(options: BuildOptions, view: View, progress: Progress, *, rust: bool) -> Listing:
    if view == "mir":
        _, closed = read_program(options.cargo, options.kernels, progress)
        return Listing(mir_items(closed.program, closed.reached), format_program(closed.program))
    arch = options.archs[0]
    code = _with_lines(options, view, progress) if rust else _from_build(options, view, progress)
    match view:
        case "sass":
            disassembly = disassemble(code.cubin)
            items = sass_items(disassembly, code.kernels)
            text = "\n\n".join("\n".join(line.text for line in item.lines) for item in items) + "\n"
            return Listing(items, text, arch, code.resources)
        case "ptx":
            return Listing(ptx_items(code.ptx, code.kernels), code.ptx, arch, code.resources)
        case "llvm":
            return Listing(llvm_items(code.llvm, code.kernels), code.llvm, arch, code.resources)
        case "llvm-input":
            return Listing(llvm_items(code.llvm_input, code.kernels), code.llvm_input, "", None)


def _from_build(options: BuildOptions, view: View, progress: Progress) -> _Code:
    """From the artefacts of a build, which does nothing where nothing changed."""
    result = build(options, progress)
    artifact = result.manifest.artifact(options.archs[0])
    folder = result.manifest_path.parent
    llvm_input = (folder / artifact.files["ll"]).read_text(encoding="utf-8")
    kernels = tuple(kernel.symbol for kernel in result.manifest.kernels)
    return _Code(
        kernels=kernels,
        llvm_input=llvm_input,
        llvm=_optimized(llvm_input, options, kernels) if view == "llvm" else "",
        ptx=(folder / artifact.files["ptx"]).read_text(encoding="utf-8"),
        cubin=_cubin(folder, artifact),
        resources=artifact.resources or None,
    )


def _optimized(text: str, options: BuildOptions, kernels: tuple[str, ...]) -> str:
    return compile_ptx(text, find_arch(options.archs[0]), codegen=options.codegen, kernels=kernels).llvm_ir


def _cubin(folder: Path, artifact: Artifact) -> bytes:
    name = artifact.files.get("cubin")
    return b"" if name is None else (folder / name).read_bytes()


def _with_lines(options: BuildOptions, view: View, progress: Progress) -> _Code:
    """The same, compiled with line tables, whose positions are moved out to the user's own source."""
    _, closed = read_program(options.cargo, options.kernels, progress)
    lowered = lower_program(closed.program, closed.layouts, options.target, debug=True)
    kernels = tuple(kernel.name for kernel in lowered.kernels)
    code = _Code(kernels, lowered.text, "", "", b"", None)
    if view == "llvm-input":
        return code
    arch = find_arch(options.archs[0])
    codegen: Codegen = options.codegen
    text = lowered.text if view == "llvm" else at_users_lines(lowered.text)
    progress.status("Compiling", f"for {arch.name} with line tables ({codegen})")
    with Worker() as worker:
        ptx = compile_ptx(text, arch, codegen=codegen, kernels=kernels, debug=True, worker=worker)
        code = replace(code, llvm=ptx.llvm_ir, ptx=ptx.ptx)
        tool = _assembler(options)
        if tool is not None:
            cubin = assemble(ptx.ptx, arch, tool, kernels=kernels, debug=True, worker=worker)
            code = replace(code, cubin=cubin.data, resources=Artifact.resources_of(cubin))
    return code


def _assembler(options: BuildOptions) -> Literal["ptxas", "nvjitlink"] | None:
    if options.assembler in ("ptxas", "nvjitlink"):
        return options.assembler
    names: tuple[Literal["ptxas", "nvjitlink"], ...] = ("ptxas", "nvjitlink")
    return None if options.assembler == "none" else next((name for name in names if find_tool(name) is not None), None)
