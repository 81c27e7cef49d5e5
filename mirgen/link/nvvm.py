"""NVIDIA's libNVVM through cuda.bindings.  Runs in the worker process only."""

from __future__ import annotations

import contextlib
import importlib
import time
from pathlib import Path
from typing import Any

from mirgen.link import irtext
from mirgen.link.jobs import CodegenJob, Json, Report, ToolFailure

TOOL = "libNVVM"

#: cuda.bindings ships no types.
nvvm: Any = importlib.import_module("cuda.bindings.nvvm")


def _options(job: CodegenJob) -> list[str]:
    """What makes libNVVM compute exactly what was asked: no contraction, IEEE division and root, no flushing."""
    options = [f"-arch={job['compute']}", f"-opt={3 if job['opt_level'] else 0}"]
    options += ["-fma=0", "-prec-div=1", "-prec-sqrt=1", "-ftz=0"]
    if job["debug"]:
        options.append("-g")
    if job["output"] == "ltoir":
        options.append("-gen-lto")
    return options


def _versioned(text: str) -> str:
    """``text`` with the IR version that this very library wants."""
    if "!nvvmir.version" in text:
        return text
    major, minor, debug_major, debug_minor = nvvm.ir_version()
    number = irtext.free_metadata_number(text)
    node = f"!{number} = !{{i32 {major}, i32 {minor}, i32 {debug_major}, i32 {debug_minor}}}"
    return f"{text}\n!nvvmir.version = !{{!{number}}}\n{node}\n"


class _Program:
    """One libNVVM program, destroyed at the end of its ``with`` block."""

    def __init__(self, text: str, libdevice: str) -> None:
        self.text = text
        self.handle: int = nvvm.create_program()
        data = text.encode()
        nvvm.add_module_to_program(self.handle, data, len(data), "mirgen")
        if libdevice:
            library = Path(libdevice).read_bytes()
            nvvm.lazy_add_module_to_program(self.handle, library, len(library), "libdevice")

    def __enter__(self) -> _Program:
        return self

    def __exit__(self, *_: object) -> None:
        nvvm.destroy_program(self.handle)

    def log(self) -> str:
        """What the library says of this program."""
        size = nvvm.get_program_log_size(self.handle)
        buffer = bytearray(size)
        nvvm.get_program_log(self.handle, buffer)
        return bytes(buffer).rstrip(b"\0").decode(errors="replace").strip()

    def step(self, what: str, function: Any, options: list[str]) -> None:
        """Verify or compile; a refusal is a ToolFailure with the library's log."""
        try:
            function(self.handle, len(options), options)
        except nvvm.nvvmError as error:
            log = self.log()
            detail = irtext.excerpt(self.text, log)
            raise ToolFailure(TOOL, f"{what}: {error}", "\n".join(filter(None, [log, detail]))) from None

    def result(self) -> bytes:
        """The compiled PTX or LTO-IR."""
        size = nvvm.get_compiled_result_size(self.handle)
        buffer = bytearray(size)
        nvvm.get_compiled_result(self.handle, buffer)
        return bytes(buffer)


def _compile(job: CodegenJob, text: str, report: Report, names: str) -> tuple[bytes, str, dict[str, float]]:
    options = _options(job)
    start = time.perf_counter()
    report(f"read the IR of {names}")
    text = irtext.out_of_line(text, irtext.large_and_shared(text, irtext.INLINED_LINES))
    text = _versioned(irtext.retarget(text, irtext.NVVM_LAYOUT))
    if job["dialect"] == "legacy":
        text = irtext.legacy_attributes(text)
    with _Program(text, job["libdevice"]) as program:
        report(f"verify {names}")
        # Verifying knows only the options that choose the dialect.
        program.step("the verifier refuses the IR", nvvm.verify_program, options)
        verified = time.perf_counter()
        report(f"compile {names}")
        program.step("cannot compile the IR", nvvm.compile_program, options)
        done = time.perf_counter()
        return program.result(), program.log(), {"verify": verified - start, "codegen": done - verified}


def generate(job: CodegenJob, report: Report) -> Json:
    """PTX (file ``out``/ptx) or LTO-IR (``out``/ltoir) of the text; the answer has seconds of each step."""
    text = Path(job["text"]).read_text(encoding="utf-8")
    if job["output"] == "ltoir":
        try:
            text = irtext.keep_kernels(text, job["kernels"])
        except ValueError as error:
            raise ToolFailure(TOOL, str(error)) from None
    data, log, seconds = _compile(job, text, report, ", ".join(job["kernels"]))
    if job["output"] == "ptx":
        data = data.rstrip(b"\0")
    (Path(job["out"]) / job["output"]).write_bytes(data)
    major, minor = nvvm.version()
    return {"log": log, "seconds": seconds, "tools": {"libnvvm": f"{major}.{minor}"}}


def probe(job: CodegenJob, report: Report) -> Json:
    """Find what kills libNVVM, as `mirgen.link.llvm.probe` does."""
    text = Path(job["text"]).read_text(encoding="utf-8")

    def silent(stage: str) -> None:
        pass

    kernels = job["kernels"]
    many = len(kernels) > 1
    for name in kernels if many else irtext.callees_first(text, kernels[0]):
        report(f"kernel `{name}`" if many else f"function `{name}`")
        with contextlib.suppress(ToolFailure):  # refused this time: not what is looked for
            _compile(job, irtext.only_function(text, name), silent, name)
    return {}
