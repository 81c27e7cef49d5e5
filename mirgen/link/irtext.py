"""The little that the link stage does to LLVM IR as text: retarget it, and find and isolate kernels."""

from __future__ import annotations

import re

TRIPLE = "nvptx64-nvidia-cuda"

#: The one layout that both dialects of libNVVM accept.
NVVM_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)

_TARGET = re.compile(r'^target (?:triple|datalayout) = ".*"\n?', re.MULTILINE)
_NAME = r'@("(?:[^"\\]|\\.)*"|[-\w.$]+)'
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


def callees_first(text: str, root: str) -> list[str]:
    """``root`` and the functions defined in ``text`` that it refers to, directly or not, callees before callers."""
    bodies: dict[str, set[str]] = {}
    matches = list(_DEFINE.finditer(text))
    defined = {match.group(2).strip('"') for match in matches}
    for match in matches:
        end = text.find("\n}", match.end())
        names = (name.strip('"') for name in re.findall(_NAME, text[match.end() : end if end >= 0 else len(text)]))
        bodies[match.group(2).strip('"')] = {name for name in names if name in defined}
    order: dict[str, None] = {}
    seen = {root}
    stack = [(root, iter(sorted(bodies.get(root, ()))))]
    while stack:
        name, rest = stack[-1]
        for callee in rest:
            if callee not in seen:
                seen.add(callee)
                stack.append((callee, iter(sorted(bodies[callee]))))
                break
        else:
            order[name] = None
            stack.pop()
    return list(order)


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
