"""What the user asked cargo for: packages, target, features, profile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class CargoOptions:
    """cargo's own selection flags, passed on as they are.

    ``target`` chooses what the crates are compiled for: ``nvptx64``, ``host``, or ``auto`` (nvptx64 where its
    ``core`` can be had, else the host).  ``example`` and ``bin`` select a target instead of the library.  ``tests``:
    the target with ``cfg(test)``, its tests and dev-dependencies.
    """

    manifest_path: Path | None = None
    package: str | None = None
    example: str | None = None
    bin: str | None = None
    features: tuple[str, ...] = ()
    all_features: bool = False
    no_default_features: bool = False
    profile: str = "dev"
    target: Literal["auto", "nvptx64", "host"] = "auto"
    target_dir: Path | None = None
    config: tuple[str, ...] = ()
    locked: bool = False
    offline: bool = False
    frozen: bool = False
    quiet: bool = False
    verbose: int = 0
    color: str | None = None
    message_format: Literal["human", "short", "json"] = "human"
    extra: tuple[str, ...] = ()
    tests: bool = False

    @property
    def what(self) -> str:
        """What is looked for in the crate."""
        return "test" if self.tests else "kernel"

    def selection(self) -> list[str]:
        """The flags that decide what is compiled, in cargo's spelling."""
        flags: list[str] = []
        if self.manifest_path is not None:
            flags += ["--manifest-path", str(self.manifest_path)]
        if self.package is not None:
            flags += ["--package", self.package]
        if self.example is not None:
            flags += ["--example", self.example]
        elif self.bin is not None:
            flags += ["--bin", self.bin]
        else:
            flags.append("--lib")
        if self.features:
            flags += ["--features", ",".join(self.features)]
        flags += ["--all-features"] if self.all_features else []
        flags += ["--no-default-features"] if self.no_default_features else []
        if self.tests:
            # The only profile with which `cargo check` compiles one target's tests.
            flags += ["--profile", "test"]
            if self.profile not in ("dev", "test"):
                flags += ["--config", f'profile.test.inherits="{self.profile}"']
        else:
            flags += ["--profile", self.profile]
        return flags + self.resolution()

    def resolution(self) -> list[str]:
        """The flags that decide how cargo resolves dependencies."""
        flags = [part for value in self.config for part in ("--config", value)]
        for name in ("locked", "offline", "frozen"):
            flags += [f"--{name}"] if getattr(self, name) else []
        return flags
