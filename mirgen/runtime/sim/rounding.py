"""Arithmetic in other rounding modes than to nearest, for libdevice's ``_rd``, ``_ru`` and ``_rz`` functions."""

from __future__ import annotations

import platform

from mirgen.targets.host_abi import ROUNDED, ROUNDED_MODES, ROUNDED_OPS

#: ``FE_TONEAREST``, ``FE_DOWNWARD``, ``FE_UPWARD`` and ``FE_TOWARDZERO`` of glibc.
_ROUNDING_MODES = {
    "x86_64": {"rn": 0, "rd": 0x400, "ru": 0x800, "rz": 0xC00},
    "aarch64": {"rn": 0, "rd": 0x800000, "ru": 0x400000, "rz": 0xC00000},
}


def rounding_ir() -> str:
    """The functions for f64 and f32."""
    return "declare i32 @fesetround(i32)\n" + _rounded("double", "f64", "") + _rounded("float", "f32", "f")


def _rounded(ty: str, suffix: str, name: str) -> str:
    """Arithmetic in a rounding mode: sets the mode, computes opaquely, sets it back."""
    constrained = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
    ops = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "sqrt": "sqrt", "fma": "fma"}
    takes = {"sqrt": 1, "fma": 3}
    declarations: list[str] = []
    cases: list[str] = []
    blocks: list[str] = []
    results: list[str] = []
    for op, number in ROUNDED_OPS.items():
        what = "div" if op == "rcp" else op
        count = takes.get(what, 2)
        intrinsic = f"@llvm.experimental.constrained.{ops[what]}.{suffix}"
        if op != "rcp":
            types = ", ".join([ty] * count)
            declarations.append(f"declare {ty} {intrinsic}({types}, metadata, metadata)")
        args = ["1.0", "%a"] if op == "rcp" else ["%a", "%b", "%c"][:count]
        operands = ", ".join(f"{ty} {arg}" for arg in args)
        cases.append(f"i32 {number}, label %{op}")
        blocks.append(f"{op}:\n  %{op}.r = call {ty} {intrinsic}({operands}, {constrained}) strictfp\n  br label %out")
        results.append(f"[ %{op}.r, %{op} ]")
    modes = ", ".join(f"i32 {_ROUNDING_MODES[platform.machine()][mode]}" for mode in ROUNDED_MODES)
    body = "\n".join(blocks)
    return f"""
{chr(10).join(declarations)}
@mirgen_modes{name} = internal constant [4 x i32] [{modes}]
define {ty} @{ROUNDED}{name}({ty} %a, {ty} %b, {ty} %c, i32 %op, i32 %mode) strictfp {{
  %mode64 = zext i32 %mode to i64
  %mode.p = getelementptr i32, ptr @mirgen_modes{name}, i64 %mode64
  %native = load i32, ptr %mode.p
  %set = call i32 @fesetround(i32 %native) strictfp
  switch i32 %op, label %none [{" ".join(cases)}]
{body}
none:
  br label %out
out:
  %r = phi {ty} {", ".join(results)}, [ %a, %none ]
  %reset = call i32 @fesetround(i32 0) strictfp
  ret {ty} %r
}}
"""
