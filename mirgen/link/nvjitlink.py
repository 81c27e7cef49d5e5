"""PTX or LTO-IR to cubin with nvJitLink, as a library in the worker process."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mirgen.link.arch import Arch
from mirgen.link.cubin import Cubin
from mirgen.link.discover import require_tool
from mirgen.link.jobs import Json, LinkJob, Report, ToolFailure
from mirgen.link.resources import join_resources
from mirgen.link.worker import Worker, WorkerDied

TOOL = "nvJitLink"


def link_in_worker(job: LinkJob, report: Report) -> Json:
    """The job as the worker does it: link, write the cubin, answer with the log."""
    nvjitlink: Any = importlib.import_module("cuda.bindings.nvjitlink")  # ships no types
    options = [
        f"-arch={job['cpu']}",
        f"-O{job['opt_level']}",
        "-verbose",
        "-fma=0",
        "-prec-div=1",
        "-prec-sqrt=1",
        "-ftz=0",
    ]
    if job["lto"]:
        options.append("-lto")
    if job["debug"]:
        options.append("-lineinfo")
    types = {"ptx": nvjitlink.InputType.PTX, "ltoir": nvjitlink.InputType.LTOIR}

    def text(which: str) -> str:
        size: int = getattr(nvjitlink, f"get_{which}_log_size")(handle)
        buffer = bytearray(size)
        if size:
            getattr(nvjitlink, f"get_{which}_log")(handle, buffer)
        return bytes(buffer).rstrip(b"\0").decode(errors="replace").strip()

    start = time.perf_counter()
    report("create the linker")
    handle: int = nvjitlink.create(len(options), options)
    try:
        for kind, path in job["inputs"]:
            data = Path(path).read_bytes()
            if kind == "ptx":
                data += b"\0"
            report(f"read the {kind}")
            nvjitlink.add_data(handle, types[kind], data, len(data), f"mirgen.{kind}")
        report("link")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        Path(job["out"]).write_bytes(bytes(cubin))
        log = text("info")
    except nvjitlink.nvJitLinkError as error:
        raise ToolFailure(TOOL, str(error), "\n".join(filter(None, [text("error"), text("info")]))) from None
    finally:
        nvjitlink.destroy(handle)
    major, minor = nvjitlink.version()
    return {"log": log, "seconds": time.perf_counter() - start, "tools": {"nvjitlink": f"{major}.{minor}"}}


def link(
    inputs: Sequence[tuple[str, bytes]],
    arch: Arch,
    *,
    opt_level: int = 3,
    debug: bool = False,
    worker: Worker | None = None,
) -> Cubin:
    """The cubin of ``inputs`` (pairs of ``ptx`` or ``ltoir`` and the data) for ``arch``.

    Raises ToolError with nvJitLink's own lines.
    """
    require_tool("nvjitlink")
    with tempfile.TemporaryDirectory(prefix="mirgen-") as folder:
        files: list[tuple[str, str]] = []
        for number, (kind, data) in enumerate(inputs):
            path = Path(folder, f"{number}.{kind}")
            path.write_bytes(data)
            files.append((kind, str(path)))
        out = Path(folder, "out.cubin")
        lto = any(kind == "ltoir" for kind, _ in inputs)
        request = LinkJob(inputs=files, out=str(out), cpu=arch.name, opt_level=opt_level, lto=lto, debug=debug)
        own = Worker() if worker is None else worker
        try:
            answer = own.run("nvjitlink", TOOL, request)
        except WorkerDied as died:
            raise died.tool_error() from None
        finally:
            if worker is None:
                own.close()
        data = out.read_bytes()
    kernels = join_resources(data, answer["log"], TOOL)
    return Cubin(data, arch, TOOL, kernels, answer["log"], answer["seconds"], answer["tools"])
