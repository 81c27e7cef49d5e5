"""From LLVM IR text to PTX or LTO-IR for one architecture, by LLVM or libNVVM in a worker process."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mirgen.errors import InternalError, ToolError
from mirgen.link import irtext
from mirgen.link.arch import Arch
from mirgen.link.discover import require_tool
from mirgen.link.jobs import CodegenJob
from mirgen.link.ptx_info import PtxInfo, parse_ptx
from mirgen.link.worker import Worker, WorkerDied

Codegen = Literal["llvm", "nvvm"]

#: Seconds for finding out what killed a code generator.
PROBE_TIMEOUT = 120.0

_TOOLS = {"llvm": "LLVM", "nvvm": "libNVVM"}

#: Functions that the CUDA driver brings into every kernel that calls them.
DEVICE_RUNTIME = frozenset({"vprintf", "__assertfail", "malloc", "free"})


@dataclass(frozen=True, slots=True)
class PtxResult:
    """PTX for one architecture.

    ``llvm_ir`` is LLVM's optimized IR (empty from libNVVM), ``log`` what the code generator said, ``seconds`` the
    time of its steps, ``tools`` the versions of the libraries that did it.
    """

    ptx: str
    arch: Arch
    codegen: Codegen
    info: PtxInfo
    llvm_ir: str = ""
    log: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    tools: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class LtoIrResult:
    """LTO-IR for one architecture: input of nvJitLink."""

    data: bytes
    arch: Arch
    log: str
    seconds: dict[str, float]
    tools: dict[str, str]


def _probe(worker: Worker, died: WorkerDied, job: str, request: CodegenJob) -> str:
    """What the worker was compiling when it died again, as ``kernel `k``` or ``function `f```; else empty."""
    try:
        worker.run(f"{job}-probe", died.tool, request, timeout=PROBE_TIMEOUT)
    except WorkerDied as second:
        if second.stage.startswith(("kernel ", "function ")):
            return second.stage
    except (ToolError, InternalError):
        pass
    return ""


def _blame(worker: Worker, died: WorkerDied, job: str, request: CodegenJob) -> str:
    """Which kernel, and which function of it, kills the code generator: the worker is asked again, piece by piece."""
    kernels = request["kernels"]
    if len(kernels) > 1:
        found = _probe(worker, died, job, request)
        if not found:
            return f"kernels {', '.join(f'`{name}`' for name in kernels)}, to {died.stage}"
        kernels = [found.split("`")[1]]
    single = request.copy()
    single["kernels"] = kernels
    function = _probe(worker, died, job, single)
    if function and function != f"function `{kernels[0]}`":
        return f"{function} of kernel `{kernels[0]}`"
    return f"kernel `{kernels[0]}`"


def _generate(
    text: str,
    arch: Arch,
    codegen: Codegen,
    kernels: Sequence[str],
    opt_level: int,
    output: str,
    debug: bool,
    worker: Worker | None,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """One code generation job: the worker's answer and the files it wrote."""
    if not kernels:
        raise InternalError("nothing to compile: no kernel was named")
    libdevice = str(require_tool("libdevice").path) if irtext.needs_libdevice(text) else ""
    if codegen == "nvvm":
        require_tool("libnvvm")
    with tempfile.TemporaryDirectory(prefix="mirgen-") as folder:
        source = Path(folder, "in.ll")
        source.write_text(text, encoding="utf-8")
        request = CodegenJob(
            text=str(source),
            out=folder,
            cpu=arch.name,
            compute=arch.compute,
            dialect=arch.dialect,
            ptx_version=arch.ptx_version,
            kernels=list(kernels),
            opt_level=opt_level,
            libdevice=libdevice,
            output=output,
            debug=debug,
        )
        own = Worker() if worker is None else worker
        try:
            answer = own.run(codegen, _TOOLS[codegen], request)
        except WorkerDied as died:
            raise died.tool_error(_blame(own, died, codegen, request)) from None
        finally:
            if worker is None:
                own.close()
        files = {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "in.ll"}
    return answer, files


def check_ptx(info: PtxInfo, kernels: Sequence[str], tool: str) -> None:
    """Every kernel must be an entry, no other entry may be there, and nothing may be left for a later linker."""
    lost = [name for name in kernels if name not in info.entries]
    if lost:
        raise ToolError(tool, f"the PTX lacks the kernel `{lost[0]}` (it has: {', '.join(info.entries) or 'none'})")
    extra = [name for name in info.entries if name not in kernels]
    if extra:
        raise ToolError(tool, f"the PTX has an entry `{extra[0]}` that is no kernel of this program")
    unresolved = [name for name in info.externs if name not in DEVICE_RUNTIME]
    if unresolved:
        raise ToolError(tool, f"the PTX calls `{unresolved[0]}`, which nothing defines")


def compile_ptx(
    text: str,
    arch: Arch,
    *,
    codegen: Codegen = "llvm",
    kernels: Sequence[str],
    opt_level: int = 3,
    debug: bool = False,
    worker: Worker | None = None,
) -> PtxResult:
    """PTX of ``text`` (typed-pointer LLVM IR; its triple and layout are replaced) for ``arch``.

    ``kernels`` are the entry points; everything else is internal.  ``opt_level`` 0 to 3 (libNVVM knows 0 and 3).
    With a ``worker`` its process is used, without one a process is started for this call.

    Raises ToolError: the IR is not valid, the code generator refuses it, dies of it (naming the kernel or function)
    or drops a kernel.
    """
    answer, files = _generate(text, arch, codegen, kernels, opt_level, "ptx", debug, worker)
    ptx = files["ptx"].decode()
    info = parse_ptx(ptx)
    check_ptx(info, kernels, _TOOLS[codegen])
    return PtxResult(
        ptx=ptx,
        arch=arch,
        codegen=codegen,
        info=info,
        llvm_ir=files.get("ll", b"").decode(),
        log=answer["log"],
        seconds=answer["seconds"],
        tools=answer["tools"],
    )


def compile_ltoir(
    text: str,
    arch: Arch,
    *,
    kernels: Sequence[str],
    opt_level: int = 3,
    debug: bool = False,
    worker: Worker | None = None,
) -> LtoIrResult:
    """LTO-IR of ``text`` by libNVVM, to be linked by nvJitLink; arguments and errors as of `compile_ptx`."""
    answer, files = _generate(text, arch, "nvvm", kernels, opt_level, "ltoir", debug, worker)
    return LtoIrResult(files["ltoir"], arch, answer["log"], answer["seconds"], answer["tools"])
