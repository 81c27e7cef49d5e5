"""Running cargo: the user's crate and its dependencies are compiled by stock rustc to metadata that keeps MIR.

rustc's and cargo's messages pass through untouched.  The shim, as ``RUSTC_WRAPPER``, records each unit of the target.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mirgen.cargo.expose import overlays, standard
from mirgen.cargo.lock import lock_file, locked
from mirgen.cargo.options import CargoOptions
from mirgen.cargo.sysroot import MISSING_SOURCES, build_sysroot, built_sysroot
from mirgen.cargo.toolchain import NVPTX_TARGET, Toolchain, find_program, find_shim, find_toolchain
from mirgen.errors import InvalidInputError, ToolError

#: Raised when recorded units of an older mirgen must not be taken for this one's.
_STAMP = "1"

#: What cargo is asked for, by what the user asks for: its artifacts are read in any case.
_FORMATS = {
    "human": "json-render-diagnostics", "short": "json-render-diagnostics,json-diagnostic-short", "json": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """One crate as it was compiled.  ``record`` is the file that lets the shim ask rustc the same again."""

    crate_name: str
    record: Path
    metadata: Path
    primary: bool


@dataclass(frozen=True, slots=True)
class CargoBuild:
    """``root`` is the unit that holds the kernels; ``units`` are all of the target by crate name, ``core`` and
    ``alloc`` among them where their MIR can be had."""

    toolchain: Toolchain
    shim: Path
    target: str
    root: Unit
    units: tuple[Unit, ...]
    package_name: str
    package_version: str
    package_dir: Path
    output_dir: Path
    work_dir: Path


def cargo_build(options: CargoOptions, held: ExitStack | None = None) -> CargoBuild:
    """Compile what ``options`` select.

    Nobody else builds in the same folder meanwhile, nor, where ``held`` is given, until that ends: what is read of a
    build has to be of that one.

    Raises:
        ToolError: cargo or rustc failed (their messages have already been shown), or is not installed.
        InvalidInputError: the selection is not one crate.
    """
    toolchain = find_toolchain()
    target, sysroot = choose_target(options, toolchain)
    cargo = find_program("cargo", "CARGO")
    package = _package(cargo, options)
    base = options.target_dir or Path(package["target_directory"])
    place = _Place(toolchain, cargo, target, sysroot, package, base)
    with ExitStack() as built:
        (held or built).enter_context(locked(lock_file(place.work), lambda: _say_waiting(options, place.work)))
        return _build(options, place)


def _say_waiting(options: CargoOptions, work: Path) -> None:
    if not options.quiet:
        print(f"{'Blocking':>12} waiting for another mirgen to finish in {work}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class _Place:
    """What is compiled, with and for what, and cargo's target folder."""

    toolchain: Toolchain
    cargo: Path
    target: str
    sysroot: Path | None
    package: dict[str, Any]
    base: Path

    @property
    def work(self) -> Path:
        return self.base / "mirgen" / "build" / f"{self.toolchain.identity}-{self.target}"


def _build(options: CargoOptions, place: _Place) -> CargoBuild:
    toolchain, target, sysroot, package, work = place.toolchain, place.target, place.sysroot, place.package, place.work
    shim = find_shim()
    if sysroot is None and standard(work) is not None:
        sysroot = built_sysroot(toolchain, target)
    units_dir = work / "units"
    units_dir.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "RUSTC": str(toolchain.rustc),
        "RUSTC_WRAPPER": str(shim),
        "MIRGEN_WRAPPER_DIR": str(units_dir),
        "MIRGEN_TARGET": target,
        "MIRGEN_STAMP": f"{_STAMP}-{shim.stat().st_mtime_ns}",
    }
    environment.pop("RUSTC_WORKSPACE_WRAPPER", None)
    environment.pop("MIRGEN_SYSROOT", None)
    environment.pop("MIRGEN_OVERLAYS", None)
    copies = overlays(work)
    if copies is not None:
        environment["MIRGEN_OVERLAYS"] = str(copies)
    if sysroot is not None:
        opened = standard(work)
        # One that an older mirgen built is not of this sysroot.
        seen = opened if opened is not None and opened.name.startswith(sysroot.name) else sysroot
        environment["MIRGEN_SYSROOT"] = str(seen)
        environment["MIRGEN_STAMP"] += f"-{seen.name}"
    command = [str(place.cargo), "check", "--target", target, "--target-dir", str(work), *options.selection()]
    command += ["--message-format", _FORMATS[options.message_format]]
    command += ["--quiet"] if options.quiet else []
    command += ["-" + "v" * options.verbose] if options.verbose else []
    command += ["--color", options.color or ("always" if sys.stderr.isatty() else "auto")]
    command += list(options.extra)
    as_json = options.message_format == "json"
    artifacts = _run_cargo(command, environment, as_json=as_json)
    foreign = _foreign(artifacts, units_dir, work / target)
    if foreign:
        for path in foreign:
            path.unlink(missing_ok=True)  # then cargo has to compile it again
        artifacts = _run_cargo(command, environment, as_json=as_json)
        foreign = _foreign(artifacts, units_dir, work / target)
    if foreign:
        raise ToolError("cargo", f"{foreign[0].name} was not compiled as mirgen asked; remove {work}", command=command)
    units = _units(artifacts, units_dir, package["id"], tests=options.tests)
    roots = [unit for unit, is_root in units if is_root]
    if len(roots) != 1:
        raise InvalidInputError(f"cargo compiled {len(roots)} crates of package `{package['name']}`; mirgen needs one")
    every = [unit for unit, _ in units]
    if sysroot is not None:
        every += [
            Unit(name, sysroot / "units" / f"{name}.json", sysroot / "complete", False) for name in ("core", "alloc")
        ]  # fmt: skip
    return CargoBuild(
        toolchain=toolchain,
        shim=shim,
        target=target,
        root=roots[0],
        units=tuple(every),
        package_name=package["name"],
        package_version=package["version"],
        package_dir=Path(package["manifest_path"]).parent,
        output_dir=place.base / "mirgen",
        work_dir=work,
    )


def target_directory(options: CargoOptions) -> Path:
    """cargo's target directory for the selected package."""
    if options.target_dir is not None:
        return options.target_dir
    return Path(_metadata(find_program("cargo", "CARGO"), options)["target_directory"])


def choose_target(options: CargoOptions, toolchain: Toolchain) -> tuple[str, Path | None]:
    """The rustc target, and mirgen's own sysroot for it where one is used.

    ``auto`` takes nvptx64 when its core is shipped, was built, or can be built from installed sources.

    Raises:
        ToolError: nvptx64 was asked for and its core cannot be had.
    """
    if options.target == "host":
        return toolchain.host, None
    built = built_sysroot(toolchain)
    if built is not None:
        return NVPTX_TARGET, built
    if toolchain.has_shipped_core(NVPTX_TARGET):
        return NVPTX_TARGET, None
    if options.target == "nvptx64":
        if toolchain.library is None:
            raise ToolError(
                "rustc", f"no core for {NVPTX_TARGET}: `rustup target add {NVPTX_TARGET}`; or {MISSING_SOURCES}, then "
                "`cargo mirgen setup`"
            )  # fmt: skip
        return NVPTX_TARGET, build_sysroot(toolchain, progress=show_building)
    return toolchain.host, None


def show_building(message: str) -> None:
    """A status line of cargo's kind."""
    print(f"{'Building':>12} {message}", file=sys.stderr, flush=True)


def _metadata(cargo: Path, options: CargoOptions) -> dict[str, Any]:
    command = [str(cargo), "metadata", "--format-version", "1", "--no-deps", *options.resolution()]
    if options.manifest_path is not None:
        command += ["--manifest-path", str(options.manifest_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError("cargo", "cargo metadata failed", command=command, output=done.stderr, status=done.returncode)
    return cast("dict[str, Any]", json.loads(done.stdout))


def _package(cargo: Path, options: CargoOptions) -> dict[str, Any]:
    """The selected package from ``cargo metadata``, with the workspace's target directory added."""
    metadata = _metadata(cargo, options)
    packages: list[dict[str, Any]] = metadata["packages"]
    chosen = [p for p in packages if options.package in (None, p["name"], p["id"])]
    if options.package is None and len(chosen) > 1:
        here = options.manifest_path.resolve() if options.manifest_path else _nearest_manifest()
        chosen = [p for p in packages if Path(p["manifest_path"]).resolve() == here]
    if len(chosen) != 1:
        names = ", ".join(sorted(p["name"] for p in packages))
        asked = f"no package `{options.package}`." if options.package else "which package?"
        raise InvalidInputError(f"{asked} The workspace holds: {names}. Choose one with `--package`")
    return {**chosen[0], "target_directory": metadata["target_directory"]}


def _nearest_manifest() -> Path | None:
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "Cargo.toml").is_file():
            return (folder / "Cargo.toml").resolve()
    return None


def _run_cargo(command: list[str], environment: dict[str, str], *, as_json: bool) -> list[dict[str, Any]]:
    """Run cargo, its messages on our stderr, as JSON rustc's on our stdout; the artifacts that it reports."""
    artifacts: list[dict[str, Any]] = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                message = cast("dict[str, Any]", json.loads(line))
            except json.JSONDecodeError:
                sys.stderr.write(line)
                continue
            if message.get("reason") == "compiler-artifact":
                artifacts.append(message)
            elif as_json and message.get("reason") == "compiler-message":
                sys.stdout.write(line)
                sys.stdout.flush()
    if process.returncode != 0:
        raise ToolError("cargo", "", command=command, status=process.returncode)
    return artifacts


def _foreign(artifacts: list[dict[str, Any]], units_dir: Path, folder: Path) -> list[Path]:
    """Metadata in ``folder``, the target's, that is not what the artifacts' packages are when mirgen compiles them.

    cargo takes it for fresh where a plain cargo ran in mirgen's folder, which leaves mirgen's flags out; and where two
    packages of one name and version share a target folder.
    """
    found: list[Path] = []
    for artifact in artifacts:
        package = Path(artifact["manifest_path"]).parent
        for path in map(Path, artifact["filenames"]):
            record = _record(path, units_dir)
            if path.suffix == ".rmeta" and path.is_relative_to(folder) and not _is_ours(record, package):
                found.append(path)
    return found


def _is_ours(record: Path, package: Path) -> bool:
    """Whether ``record`` is of ``package``, and rustc's dep-info still what the wrapper made of it."""
    try:
        unit = json.loads(record.read_bytes())
        dep_info = Path(unit["cwd"], unit["dep_info"]).read_text(encoding="utf-8", errors="replace")
        return Path(unit["package"]["manifest_dir"]) == package and "\n# env-dep:MIRGEN_STAMP=" in dep_info
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _record(metadata: Path, units_dir: Path) -> Path:
    return units_dir / (metadata.stem.removeprefix("lib") + ".json")


def _units(
    artifacts: list[dict[str, Any]], units_dir: Path, root_package: str, *, tests: bool
) -> list[tuple[Unit, bool]]:
    """The recorded units of the artifacts, and which is the root; build scripts and proc-macros have none.

    Beside a target's ``tests`` the package's library may have been compiled, for what needs it.
    """
    units: list[tuple[Unit, bool]] = []
    for artifact in artifacts:
        for name in artifact["filenames"]:
            path = Path(name)
            if path.suffix != ".rmeta":
                continue
            record = _record(path, units_dir)
            if record.is_file():
                is_root = artifact["package_id"] == root_package and artifact["profile"]["test"] == tests
                unit = Unit(artifact["target"]["name"].replace("-", "_"), record, path, is_root)
                units.append((unit, is_root))
    return units
