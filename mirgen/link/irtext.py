"""The little that the link stage does to LLVM IR as text: retarget it, and find and isolate kernels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise

TRIPLE = "nvptx64-nvidia-cuda"

#: The one layout that both dialects of libNVVM accept.
NVVM_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)

#: libNVVM inlines every call, whatever that makes of the program, and its passes take more than linear time: a hash of
#: 10,000 lines, called in seven places, took five minutes for sm_90 where four seconds do.  A function of more lines
#: than these therefore stays one function where it is used in several places.  LLVM decides likewise, by itself.
INLINED_LINES = 2000

_TARGET = re.compile(r'^target (?:triple|datalayout) = ".*"\n?', re.MULTILINE)
_NAME = r'@("(?:[^"\\]|\\.)*"|[-\w.$]+)'
_PARENTHESIS = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
_DEFINE = re.compile(rf"^define\s(?P<before>[^@\n]*){_NAME}\(", re.MULTILINE)


def retarget(text: str, layout: str) -> str:
    """``text`` with the GPU's triple and the given data layout, whatever it said before."""
    return f'target datalayout = "{layout}"\ntarget triple = "{TRIPLE}"\n' + _TARGET.sub("", text)


def defined_functions(text: str) -> list[str]:
    """The names of the functions that ``text`` defines, without quotes, in order."""
    return [match.group(2).strip('"') for match in _DEFINE.finditer(text)]


def needs_libdevice(text: str) -> bool:
    """Whether ``text`` calls NVIDIA's math library."""
    return re.search(r'@"?__nv_\w', text) is not None


def _bodies(text: str) -> dict[str, str]:
    """The lines of every function that ``text`` defines, without its head, by name."""
    found: dict[str, str] = {}
    for match in _DEFINE.finditer(text):
        end = text.find("\n}", match.end())
        found[match.group(2).strip('"')] = text[match.end() : end if end >= 0 else len(text)]
    return found


def _names(text: str) -> Iterator[str]:
    """Every name of a global or a function in ``text``, without quotes, as often as it is there."""
    return (name.strip('"') for name in re.findall(_NAME, text))


def _post_order(uses: Mapping[str, Collection[str]], roots: Iterable[str]) -> list[str]:
    """``roots`` and what they use, directly or not, what is used before its users."""
    order: dict[str, None] = {}
    seen: set[str] = set()
    for root in roots:
        stack = [(root, iter(sorted(uses.get(root, ()))))] if root not in seen else []
        seen.add(root)
        while stack:
            name, rest = stack[-1]
            for used in rest:
                if used not in seen:
                    seen.add(used)
                    stack.append((used, iter(sorted(uses[used]))))
                    break
            else:
                order[name] = None
                stack.pop()
    return list(order)


def callees_first(text: str, root: str) -> list[str]:
    """``root`` and the functions defined in ``text`` that it refers to, directly or not, callees before callers."""
    defined = _bodies(text)
    uses = {name: {used for used in _names(body) if used in defined} for name, body in defined.items()}
    return _post_order(uses, [root])


def large_and_shared(text: str, limit: int) -> set[str]:
    """The functions of more than ``limit`` lines, callees included, that are referred to from more than one place.

    What is inlined into such a function counts as its lines; another one of the kind does not.
    """
    defined = _bodies(text)
    uses = {name: Counter(used for used in _names(body) if used in defined) for name, body in defined.items()}
    places = sum(uses.values(), Counter[str]())
    lines: dict[str, int] = {}
    found: set[str] = set()
    for name in _post_order(uses, defined):
        inlined = sum(times * lines.get(used, 0) for used, times in uses[name].items() if used not in found)
        lines[name] = defined[name].count("\n") + inlined
        if lines[name] > limit and places[name] > 1:
            found.add(name)
    return found


def out_of_line(text: str, functions: Collection[str]) -> str:
    """``text`` in which calls of ``functions`` stay calls."""
    ends = [0]
    for match in _DEFINE.finditer(text):
        if match.group(2).strip('"') in functions:
            depth, end = 1, match.end()
            while depth:  # types of parameters may have parentheses, and in quotes any character
                token = _PARENTHESIS.search(text, end)
                assert token is not None
                depth += {"(": 1, ")": -1}.get(token[0], 0)
                end = token.end()
            ends.append(end)
    return " noinline".join(text[start:end] for start, end in pairwise([*ends, len(text)]))


def only_function(text: str, keep: str) -> str:
    """``text`` in which ``keep`` alone is visible and nothing is a kernel, so that what it does not use is dropped."""

    def visibility(match: re.Match[str]) -> str:
        before = re.sub(r"\b(internal|private)\s", "", match["before"])
        kept = match.group(2).strip('"') == keep
        return f"define {'' if kept else 'internal '}{before}@{match.group(2)}("

    text = _DEFINE.sub(visibility, text)
    return re.sub(r"^!nvvm\.annotations = .*\n?", "", text, flags=re.MULTILINE)


def legacy_attributes(text: str) -> str:
    """``text`` with the attributes that LLVM 7 knows without their type: ``byval(%T)`` becomes ``byval``."""
    return re.sub(r"\b(byval|sret)\((?:[^()]|\([^()]*\))*\)", r"\1", text)


def keep_kernels(text: str, kernels: list[str]) -> str:
    """``text`` with the kernels in ``@llvm.used``: link-time optimization drops those that are not."""
    items: list[str] = []
    for name in kernels:
        match = re.search(rf'!{{(?P<type>[^\n!]*\*) (?P<name>@"?{re.escape(name)}"?), !"kernel"', text)
        if match is None:
            raise ValueError(f"no kernel annotation of `{name}`")
        items.append(f"i8* bitcast ({match['type']} {match['name']} to i8*)")
    if "@llvm.used" in text:
        raise ValueError("the IR has an @llvm.used of its own")
    used = f'@llvm.used = appending global [{len(items)} x i8*] [{", ".join(items)}], section "llvm.metadata"'
    return f"{text}\n{used}\n"


def free_metadata_number(text: str) -> int:
    """A metadata number that ``text`` does not use."""
    return max((int(number) for number in re.findall(r"!(\d+)", text)), default=-1) + 1


def excerpt(text: str, message: str) -> str:
    """The line of ``text`` that a parser's message points at (``<string>:12:3:`` or ``(12, 3)``), or ``""``."""
    match = re.search(r"<string>:(\d+):\d+|\((\d+), ?\d+\)|line:? (\d+)", message)
    if match is None:
        return ""
    number = int(next(group for group in match.groups() if group))
    lines = text.splitlines()
    return f"IR line {number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else ""
