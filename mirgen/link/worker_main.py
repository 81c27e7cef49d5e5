"""The worker process: LLVM, libNVVM and nvJitLink live and may die here.

python -m mirgen.link.worker_main REQUEST_FD ANSWER_FD
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable

from mirgen.link.jobs import Json, Report, ToolFailure


def _llvm(job: Json, report: Report) -> Json:
    from mirgen.link import llvm

    return llvm.generate(job, report)  # type: ignore[arg-type]


def _llvm_probe(job: Json, report: Report) -> Json:
    from mirgen.link import llvm

    return llvm.probe(job, report)  # type: ignore[arg-type]


def _nvvm(job: Json, report: Report) -> Json:
    from mirgen.link import nvvm

    return nvvm.generate(job, report)  # type: ignore[arg-type]


def _nvvm_probe(job: Json, report: Report) -> Json:
    from mirgen.link import nvvm

    return nvvm.probe(job, report)  # type: ignore[arg-type]


def _nvjitlink(job: Json, report: Report) -> Json:
    from mirgen.link import nvjitlink

    return nvjitlink.link_in_worker(job, report)  # type: ignore[arg-type]


JOBS: dict[str, Callable[[Json, Report], Json]] = {
    "llvm": _llvm,
    "llvm-probe": _llvm_probe,
    "nvvm": _nvvm,
    "nvvm-probe": _nvvm_probe,
    "nvjitlink": _nvjitlink,
}


def serve(request_fd: int, answer_fd: int) -> None:
    """Answer requests until the parent closes its end."""
    with (
        os.fdopen(request_fd, "r", encoding="utf-8") as requests,
        os.fdopen(answer_fd, "w", encoding="utf-8") as answers,
    ):

        def answer(message: Json) -> None:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

        for line in requests:
            job: Json = json.loads(line)
            try:
                result = JOBS[job["job"]](job, lambda stage: answer({"stage": stage}))
            except ToolFailure as error:
                answer({"error": {"tool": error.tool, "message": error.message, "output": error.output}})
            except Exception:
                answer({"internal": traceback.format_exc()})
            else:
                answer({"ok": result})


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
