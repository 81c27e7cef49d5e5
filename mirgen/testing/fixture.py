"""The fixture crates: what to launch, with which inputs, and what the native build makes of them.

``fixtures/crates/<name>/fixture.toml`` lists kernels; each parameter has a Rust type and either a value or a recipe.
The same inputs then go to every lane: the crate's ``native`` example, the simulator, a GPU.  Results have to be equal
byte by byte; one NaN is as good as another.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from mirgen.cargo.lock import locked
from mirgen.errors import InvalidInputError, ToolError
from mirgen.testing.recipes import fill, from_bytes, one_value
from mirgen.testing.rust_dtypes import WIDE, Structs, dtype_of

Passed = Literal["value", "ref", "slice", "pointer"]

_PARAM_KEYS: Final = {"name", "type", "rust", "value", "len", "fill", "by", "out", "expect"}


@dataclass(frozen=True, slots=True)
class FixtureParam:
    """``type`` is the Rust type of the value or of one element, in words that numpy's types can follow; ``rust`` is
    the kernel's own type where that is another one of the same bytes (``AtomicU32`` for ``u32``).

    ``length`` is the number of elements of a slice or of what a raw pointer points to.  ``expect`` is how an output
    has to begin, where the fixture knows better than any compiler.
    """

    name: str
    type: str
    rust: str
    passed: Passed
    dtype: np.dtype[Any]
    length: int | None
    recipe: Mapping[str, Any]
    value: object
    out: bool
    expect: Sequence[object] | None


@dataclass(frozen=True, slots=True)
class FixtureKernel:
    """``needs`` names what a lane must offer, else the kernel is refused there: ``core`` is core's own MIR."""

    crate: str
    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    params: tuple[FixtureParam, ...]
    needs: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def outputs(self) -> tuple[FixtureParam, ...]:
        return tuple(param for param in self.params if param.out)

    def inputs(self) -> dict[str, NDArray[Any]]:
        """A fresh array for every parameter, the same ones each time; by-value parameters have one element."""
        return {param.name: self._input(param) for param in self.params}

    def _input(self, param: FixtureParam) -> NDArray[Any]:
        if param.length is None:
            return one_value(param.value, param.dtype)
        rng = np.random.default_rng([ord(c) for c in f"{self.crate}/{self.name}/{param.name}"])
        return fill(rng, param.recipe, param.dtype, param.length)


@dataclass(frozen=True, slots=True)
class Fixture:
    """One crate of ``fixtures/crates``."""

    crate: str
    path: Path
    kernels: tuple[FixtureKernel, ...]


def fixture_paths(root: Path) -> Iterator[Path]:
    """The crates below ``root`` that are fixtures, in the order of their names."""
    return (toml.parent for toml in sorted(root.glob("*/fixture.toml")))


def load_fixture(path: Path) -> Fixture:
    """Reads ``path/fixture.toml``.  Raises :class:`InvalidInputError`."""
    toml = path / "fixture.toml"
    try:
        data = tomllib.loads(toml.read_text())
        structs: Structs = data.get("type", {})
        kernels = tuple(_kernel(path.name, kernel, structs) for kernel in data["kernel"])
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError) as error:
        raise InvalidInputError(f"{type(error).__name__}: {error}", str(toml)) from error
    return Fixture(path.name, path, kernels)


def argument(param: FixtureParam, data: NDArray[Any]) -> object:
    """An input in the form that a launch takes: arrays of primitives as they are, anything else as its bytes."""
    by_value = param.passed == "value"
    opaque = param.rust != param.type and not param.rust.startswith("Atomic")
    if opaque or (param.dtype.names is not None and param.dtype != WIDE):
        return data.tobytes() if by_value else data.view(np.uint8).reshape(-1)
    return data[0] if by_value else data


def run_native(
    fixture: Fixture, kernel: FixtureKernel, inputs: Mapping[str, NDArray[Any]], program: Path
) -> dict[str, NDArray[Any]]:
    """The outputs of one kernel, run by the crate's own ``native`` example.  Raises :class:`ToolError`."""
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary, "in"), Path(temporary, "out")
        source.mkdir()
        target.mkdir()
        for name, data in inputs.items():
            (source / f"{name}.bin").write_bytes(data.tobytes())
        size = [",".join(map(str, extent)) for extent in (kernel.grid, kernel.block)]
        _call([str(program), kernel.name, *size, str(source), str(target)], fixture.path)
        outputs: dict[str, NDArray[Any]] = {}
        for param in kernel.outputs:
            data = (target / f"{param.name}.bin").read_bytes()
            before = inputs[param.name]
            if len(data) != before.nbytes:
                raise ToolError("native", f"{param.name}: {len(data)} bytes, not {before.nbytes}")
            outputs[param.name] = from_bytes(data, param.dtype).reshape(before.shape)
        return outputs


def build_native(fixture: Fixture, target_dir: Path | None = None, toolchain: str | None = None) -> Path:
    """Builds the crate's ``native`` example with plain cargo; the program's path.  Raises :class:`ToolError`."""
    command = ["cargo", *([f"+{toolchain}"] if toolchain else []), "build", "--locked", "--release"]
    target = target_dir or fixture.path.parent / "target"
    with locked(target / ".native.lock"):
        # The examples of all fixtures have one name: set each apart before the next is built.
        _call([*command, "--example", "native", "--target-dir", str(target)], fixture.path)
        program = target / f"native-{fixture.crate}{f'-{toolchain}' if toolchain else ''}"
        made = target / "release" / "examples" / "native"
        if not program.exists() or not program.samefile(made):
            new = program.with_name(f".{program.name}")  # it may be running
            new.unlink(missing_ok=True)
            os.link(made, new)
            new.replace(program)
    return program


def differences(
    kernel: FixtureKernel, expected: Mapping[str, NDArray[Any]], found: Mapping[str, NDArray[Any]]
) -> list[str]:
    """Where outputs differ, one line for each, in words for a failed test; none if all are equal.

    Bytes are compared, but for NaNs and padding."""
    lines: list[str] = []
    for param in kernel.outputs:
        want, got = (np.ascontiguousarray(side[param.name]) for side in (expected, found))
        if want.nbytes != got.nbytes:
            lines.append(f"{param.name}: {got.nbytes} bytes, not {want.nbytes}")
            continue
        size = want.dtype.itemsize
        bytes_differ = want.view(np.uint8).reshape(-1, size) != got.view(np.uint8).reshape(-1, size)
        rows = (bytes_differ & _meaningful(want.dtype)).any(axis=1)
        if want.dtype.kind == "f":
            # Rust leaves open which NaN an operation gives.
            rows &= ~(np.isnan(want) & np.isnan(got.view(want.dtype))).reshape(-1)
        wrong = np.flatnonzero(rows)
        if wrong.size:
            first = int(wrong[0])
            values = [side.reshape(-1)[first] for side in (want, got.view(want.dtype))]
            lines.append(f"{param.name}[{first}]: {values[1]}, not {values[0]} ({wrong.size} of {rows.size} differ)")
    return lines


def _meaningful(dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Which bytes of an element belong to a field: padding is nobody's, and Rust need not copy it."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_meaningful(base), int(np.prod(shape)))
    if dtype.fields is None:
        return np.ones(dtype.itemsize, dtype=np.bool_)
    mask = np.zeros(dtype.itemsize, dtype=np.bool_)
    for inner, offset, *_ in dtype.fields.values():
        mask[offset : offset + inner.itemsize] = _meaningful(inner)
    return mask


def unexpected(kernel: FixtureKernel, outputs: Mapping[str, NDArray[Any]]) -> list[str]:
    """Where outputs don't begin as the fixture says they must."""
    lines: list[str] = []
    for param in kernel.outputs:
        for at, value in enumerate(param.expect or ()):
            want = one_value(value, param.dtype)[0]
            got = outputs[param.name].reshape(-1)[at]
            if want != got:
                lines.append(f"{param.name}[{at}]: {got}, not {want}")
    return lines


def _call(command: Sequence[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolError(command[0], str(error), command=command) from error
    if done.returncode:
        raise ToolError(
            command[0], done.stderr.strip() or "failed", command=command, output=done.stdout, status=done.returncode
        )


def _kernel(crate: str, data: Mapping[str, Any], structs: Structs) -> FixtureKernel:
    return FixtureKernel(
        crate,
        data["name"],
        tuple(data["grid"]),
        tuple(data["block"]),
        tuple(_param(param, structs) for param in data["params"]),
        frozenset(data.get("needs", ())),
    )


def _param(data: Mapping[str, Any], structs: Structs) -> FixtureParam:
    unknown = set(data) - _PARAM_KEYS
    if unknown:
        raise ValueError(f"parameter {data['name']}: unknown key {sorted(unknown)[0]}")
    if ("value" in data) == ("len" in data):
        raise ValueError(f"parameter {data['name']}: either a value or a length")
    passed = data.get("by", "value" if "value" in data else "slice")
    if passed not in ("value", "ref", "slice", "pointer"):
        raise ValueError(f"parameter {data['name']}: passed by {passed}")
    return FixtureParam(
        name=data["name"],
        type=data["type"],
        rust=data.get("rust", data["type"]),
        passed=passed,
        dtype=dtype_of(data["type"], structs),
        length=data.get("len"),
        recipe=cast("Mapping[str, Any]", data.get("fill", {"kind": "zero"})),
        value=data.get("value"),
        out=data.get("out", False),
        expect=data.get("expect"),
    )
