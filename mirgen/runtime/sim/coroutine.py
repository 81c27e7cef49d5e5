"""Turns kernels that reach a barrier into LLVM coroutines.

The host target emits ordinary functions: a kernel is ``void @k(i8* ctx, i8* args)`` and a barrier a call of the marker
``void @__mirgen_sim_barrier(i8* ctx, i32 site)``.  Only a coroutine can suspend, so functions that reach the marker are
first inlined into their kernels; then this module rewrites the text that LLVM prints: the kernel becomes a
``presplitcoroutine`` returning its handle, and each marker becomes a store of the site followed by ``coro.suspend``.
A kernel that reaches no barrier stays a plain function, which the scheduler calls once a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mirgen.errors import InternalError
from mirgen.targets.host_abi import BARRIER, FRAME, WAIT_SITE

_DECLARATIONS = f"""
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare i64 @llvm.coro.align.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.end(ptr, i1, token)
declare noalias ptr @{FRAME}(ptr, i64, i64)
"""

_DEFINE = re.compile(r"^define .*?@(?P<name>[\w.$-]+|\"[^\"]*\")\(")
_LABEL = re.compile(r"^(?P<name>[\w.$-]+|\"[^\"]*\"):")
_CALL = re.compile(
    rf"^\s*(?:tail |musttail |notail )?call void @{BARRIER}"
    r"\(ptr [^%]*(?P<ctx>%[\w.$-]+|%\"[^\"]*\"), i32 [^\d]*(?P<site>\d+)\)"
)
_RETURN = re.compile(r"^\s*ret void(?:,.*)?$")
_PHI_EDGE = re.compile(r"%(?P<label>[\w.$-]+|\"[^\"]*\") \]")
_NAME = re.compile(r"%[\w.$-]+|%\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Calls:
    """What one function calls: names of direct callees, and whether the barrier's address is used otherwise."""

    name: str
    defined: bool
    callees: frozenset[str]


def functions_to_inline(functions: Iterable[Calls]) -> frozenset[str]:
    """The defined functions that reach :data:`BARRIER` by direct calls, kernels included."""
    callers: dict[str, set[str]] = {}
    for function in functions:
        if function.defined:
            for callee in function.callees:
                callers.setdefault(callee, set()).add(function.name)
    reached: set[str] = set()
    todo = [BARRIER]
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in reached:
                reached.add(caller)
                todo.append(caller)
    return frozenset(reached)


def rewrite_kernels(text: str, kernels: Mapping[str, bool]) -> str:
    """Rewrites those ``kernels`` of the module ``text`` (as LLVM prints it) whose value is true.

    Raises :class:`InternalError` for a barrier outside these kernels or a kernel of an unexpected shape.
    """
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        define = _DEFINE.match(line)
        if define is None:
            out.append(line)
            at += 1
            continue
        end = lines.index("}", at)
        name = define["name"].strip('"')
        body = lines[at + 1 : end]
        if kernels.get(name, False):
            out.extend(_rewrite(name, line, body))
        else:
            stray = next((entry for entry in body if _CALL.match(entry)), None)
            if stray is not None:
                raise InternalError(f"a barrier is left in {name}, which is not a kernel: {stray.strip()}")
            out.extend(lines[at : end + 1])
        at = end + 1
    return "\n".join(out) + _DECLARATIONS


def _rewrite(name: str, define: str, body: list[str]) -> list[str]:
    match = re.match(r"^define (?P<before>.*?)void (?P<rest>@.*)$", define)
    if match is None or not define.rstrip().endswith("{"):
        raise InternalError(f"kernel {name} does not return void: {define}")
    params = _NAME.findall(define[define.index("(") :])
    if len(params) < 2:
        raise InternalError(f"kernel {name} does not take a context and a parameter block: {define}")
    ctx = params[0]
    rest = match["rest"].rstrip()[:-1].rstrip()
    # Attributes stand before section, align, personality and metadata; `presplitcoroutine` must be among the first.
    head = f"define {match['before']}ptr {_insert_attribute(rest)} {{"
    begin = [
        "  %mirgen.id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
        "  %mirgen.size = call i64 @llvm.coro.size.i64()",
        "  %mirgen.align = call i64 @llvm.coro.align.i64()",
        f"  %mirgen.frame = call noalias ptr @{FRAME}(ptr {ctx}, i64 %mirgen.size, i64 %mirgen.align)",
        "  %mirgen.handle = call noalias ptr @llvm.coro.begin(token %mirgen.id, ptr %mirgen.frame)",
    ]
    lines = _split_at_barriers(name, body)
    first = 1 if lines and _LABEL.match(lines[0]) else 0
    final = [
        "",
        "mirgen.final:",
        "  %mirgen.last = call i8 @llvm.coro.suspend(token none, i1 true)",
        "  switch i8 %mirgen.last, label %mirgen.suspend [i8 0, label %mirgen.trap",
        "    i8 1, label %mirgen.cleanup]",
        "",
        "mirgen.trap:",
        "  unreachable",
        "",
        "mirgen.cleanup:",
        "  %mirgen.memory = call ptr @llvm.coro.free(token %mirgen.id, ptr %mirgen.handle)",
        "  br label %mirgen.suspend",
        "",
        "mirgen.suspend:",
        "  call void @llvm.coro.end(ptr %mirgen.handle, i1 false, token none)",
        "  ret ptr %mirgen.handle",
        "}",
    ]
    return [head, *lines[:first], *begin, *lines[first:], *final]


def _insert_attribute(rest: str) -> str:
    """``@k(..) attributes`` with ``presplitcoroutine`` right after the parameter list."""
    depth = 0
    for index, char in enumerate(rest):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                tail = rest[index + 1 :]
                unnamed = re.match(r"\s*(?:local_)?unnamed_addr", tail)
                split = index + 1 + (unnamed.end() if unnamed else 0)
                return f"{rest[:split]} presplitcoroutine{rest[split:]}"
    raise InternalError(f"no parameter list in {rest}")


def _split_at_barriers(name: str, body: list[str]) -> list[str]:
    """Replaces barriers and returns; a block split by barriers is known to later phis by its last part's label."""
    out: list[str] = []
    renamed: dict[str, str] = {}
    block: str | None = None
    count = 0
    for line in body:
        label = _LABEL.match(line)
        if label is not None:
            block = label["name"]
        call = _CALL.match(line)
        if call is not None:
            resume = f"mirgen.resume.{count}"
            out += [
                f"  %mirgen.wait.{count} = getelementptr i8, ptr {call['ctx']}, i64 {WAIT_SITE}",
                f"  store i32 {call['site']}, ptr %mirgen.wait.{count}, align 4",
                f"  %mirgen.state.{count} = call i8 @llvm.coro.suspend(token none, i1 false)",
                f"  switch i8 %mirgen.state.{count}, label %mirgen.suspend [i8 0, label %{resume}",
                "    i8 1, label %mirgen.cleanup]",
                "",
                f"{resume}:",
            ]
            # An unlabelled entry block can be no phi's predecessor by name, except under the number that LLVM gave it.
            renamed[_entry_number(body) if block is None else block] = resume
            count += 1
        elif BARRIER in line:
            raise InternalError(f"unexpected use of a barrier in kernel {name}: {line.strip()}")
        elif _RETURN.match(line):
            out.append("  br label %mirgen.final")
        else:
            out.append(line)
    return [_rename_edges(line, renamed.get) if " = phi " in line else line for line in out]


def _entry_number(body: list[str]) -> str:
    """The number under which LLVM prints the unlabelled entry block: the one named by a ``preds`` note, if any."""
    labels = {match["name"] for line in body if (match := _LABEL.match(line))}
    for line in body:
        if _LABEL.match(line) and "; preds = " in line:
            for pred in _NAME.findall(line.split("; preds = ")[1]):
                if pred[1:] not in labels:
                    return pred[1:]
    return ""


def _rename_edges(line: str, renamed: Callable[[str], str | None]) -> str:
    def edge(match: re.Match[str]) -> str:
        return f"%{renamed(match['label']) or match['label']} ]"

    return _PHI_EDGE.sub(edge, line)
