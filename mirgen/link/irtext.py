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


def only_kernel(text: str, keep: str, kernels: list[str]) -> str:
    """``text`` in which ``keep`` is the only kernel: the others become internal, so that they are dropped."""
    others = [name for name in kernels if name != keep]
    for name in others:
        quoted = rf'@"?{re.escape(name)}"?'
        text = re.sub(rf"^define\s+(?!internal)(?=[^@\n]*{quoted}\()", "define internal ", text, flags=re.MULTILINE)
        # `!7 = !{void (float)* @name, !"kernel", i32 1}`: an empty node stays for those who refer to it.
        text = re.sub(rf'^(![0-9]+ = )!{{[^\n]*{quoted}, !"[^\n]*}}', r"\1!{}", text, flags=re.MULTILINE)
    return text


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
