"""Reads PTX text as far as tests, checks and the bench need it: entries, parameters, instructions."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from mirgen.errors import InvalidInputError

_SIZES = {f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64, 128)}


@dataclass(frozen=True, slots=True)
class PtxParam:
    """One ``.param`` of an entry; ``offset``, ``size`` and ``align`` in bytes, offset in the parameter block."""

    name: str
    offset: int
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class PtxFunction:
    """One function with a body: a kernel when ``entry``; ``opcodes`` counts the full opcode texts (``mul.rn.f32``)."""

    name: str
    entry: bool
    params: tuple[PtxParam, ...]
    opcodes: Counter[str]
    body: str

    @property
    def instructions(self) -> int:
        """How many instructions the body has."""
        return self.opcodes.total()

    @property
    def barriers(self) -> int:
        """How many block barriers the body has."""
        return self.count("bar.sync") + self.count("barrier.sync") + self.count("barrier.cta.sync")

    def count(self, prefix: str) -> int:
        """How many instructions have an opcode that is ``prefix`` or begins with ``prefix.``."""
        return sum(n for opcode, n in self.opcodes.items() if opcode == prefix or opcode.startswith(prefix + "."))


@dataclass(frozen=True, slots=True)
class PtxInfo:
    """``version`` as written (``8.0``), ``target`` such as ``sm_90``; ``externs`` are declared and not defined."""

    version: str
    target: str
    functions: dict[str, PtxFunction]
    externs: tuple[str, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        """The kernels' names, in order."""
        return tuple(name for name, function in self.functions.items() if function.entry)


_FUNCTION = re.compile(
    r"^[ \t]*(?P<marks>(?:\.(?:visible|weak|extern|common)\s+)*)\.(?P<kind>entry|func)\s*"
    r"(?:\((?P<result>[^)]*)\)\s*)?(?P<name>[\w$%]+)\s*(?:\((?P<params>[^)]*)\))?",
    re.MULTILINE,
)
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align1>\d+)\s+)?\.(?P<type>\w+)\s*"
    r"(?:\.ptr\s*(?:\.(?:global|shared|const|local)\s*)?(?:\.align\s+(?P<ptralign>\d+)\s*)?)?"
    r"(?P<name>[\w$%]+)\s*(?:\[(?P<count>\d+)\])?"
)


def _params(text: str) -> tuple[PtxParam, ...]:
    params: list[PtxParam] = []
    offset = 0
    for match in _PARAM.finditer(text):
        unit = _SIZES.get(match["type"])
        if unit is None:
            raise InvalidInputError(f"unknown parameter type .{match['type']} of {match['name']}", "PTX")
        size = unit * int(match["count"] or 1)
        align = int(match["align1"] or unit)
        offset = (offset + align - 1) // align * align
        params.append(PtxParam(match["name"], offset, size, align))
        offset += size
    if len(params) != text.count(".param"):
        raise InvalidInputError(f"parameters not understood: {' '.join(text.split())}", "PTX")
    return tuple(params)


def _body(text: str, start: int) -> tuple[str, int]:
    """The text between the braces that open at or after ``start``, and where it ends."""
    opening = text.index("{", start)
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return text[opening + 1 : match.start()], match.end()
    raise InvalidInputError("a function body does not end", "PTX")


def _opcodes(body: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    statements = re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL)
    statements = re.sub(r"^\s*(?:[\w$%]+:|\.loc\b[^\n]*)", "", statements, flags=re.MULTILINE)
    for statement in re.split(r"[;{}]", statements):
        words = statement.split()
        if words and words[0].startswith("@"):
            words = words[1:]
        if words and not words[0].startswith("."):
            counts[words[0].rstrip(",")] += 1
    return counts


def parse_ptx(text: str) -> PtxInfo:
    """What `PtxInfo` holds of ``text``; InvalidInputError where it is not PTX as compilers print it."""
    plain = re.sub(r"//[^\n]*", "", text)
    version = re.search(r"^\s*\.version\s+(\d+\.\d+)", plain, re.MULTILINE)
    target = re.search(r"^\s*\.target\s+(\w+)", plain, re.MULTILINE)
    if version is None or target is None:
        raise InvalidInputError("no .version or .target line", "PTX")
    functions: dict[str, PtxFunction] = {}
    declared: list[str] = []
    position = 0
    while (match := _FUNCTION.search(plain, position)) is not None:
        after = re.compile(r"[;{]").search(plain, match.end())
        if after is None:
            raise InvalidInputError(f"function {match['name']} has neither body nor end", "PTX")
        position = after.end()
        if after.group() == ";":
            declared.append(match["name"])
            continue
        body, position = _body(plain, after.start())
        params = _params(match["params"] or "")
        functions[match["name"]] = PtxFunction(match["name"], match["kind"] == "entry", params, _opcodes(body), body)
    externs = tuple(name for name in declared if name not in functions)
    return PtxInfo(version.group(1), target.group(1), functions, externs)
