"""What ``mirgen.load`` gives: a crate's kernels as Python callables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, cast

from mirgen.runtime.abi import KernelSpec
from mirgen.runtime.dims import LaunchConfig, check_launch, dim3
from mirgen.runtime.errors import KernelNotFoundError, LaunchError
from mirgen.runtime.executor import Executor, Launch
from mirgen.runtime.packing import pack


class Module:
    """The kernels of a crate on one device: ``m.saxpy[grid, block](2.0, x, y)``."""

    def __init__(self, name: str, kernels: Iterable[KernelSpec], executor: Executor, device: str) -> None:
        self._name = name
        self._device = device
        self._kernels = {spec.name: Kernel(spec, executor) for spec in kernels}

    @property
    def name(self) -> str:
        """The crate."""
        return self._name

    @property
    def device(self) -> str:
        """``sim`` or ``cuda:N``."""
        return self._device

    @property
    def kernels(self) -> dict[str, Kernel]:
        """All kernels by name."""
        return dict(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        """A kernel whose name is no Python identifier, or is one of this class's own."""
        return self._find(name)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._kernels})

    def __repr__(self) -> str:
        return f"<mirgen module {self._name} on {self._device}: {', '.join(self._kernels) or 'no kernels'}>"

    def _find(self, name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None:
            have = ", ".join(f"`{kernel}`" for kernel in sorted(self._kernels)) or "none"
            near = difflib.get_close_matches(name, self._kernels, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise KernelNotFoundError(f"no kernel `{name}` in crate {self._name} (it has: {have}){hint}")
        return found


class Kernel:
    """One kernel; index it with a launch configuration, then call it."""

    def __init__(self, spec: KernelSpec, executor: Executor) -> None:
        self.spec = spec
        self._executor = executor
        self.__name__ = spec.name
        self.__doc__ = spec.signature

    def __getitem__(self, config: tuple[Any, ...]) -> BoundKernel:
        """``[grid, block]``, ``[grid, block, stream]`` or ``[grid, block, stream, shared_bytes]``."""
        if not isinstance(cast("object", config), tuple) or not 2 <= len(config) <= 4:
            raise LaunchError(f"kernel `{self.spec.name}`: [{config!r}] is no [grid, block, stream, shared]")
        values: list[Any] = [*config, None, None]
        grid, block, stream, shared = values[:4]
        return self.bind(LaunchConfig(grid, block, stream, shared or 0))

    def bind(self, config: LaunchConfig) -> BoundKernel:
        """The kernel with a checked configuration."""
        grid, block = dim3(config.grid, "grid"), dim3(config.block, "block")
        check_launch(self.spec, grid, block, config.shared, max_shared=self._executor.max_shared)
        return BoundKernel(Launch(self.spec, grid, block, config.shared, config.stream), self._executor)

    def launch(self, config: LaunchConfig, *args: object, **kwargs: object) -> None:
        """``launch(LaunchConfig(grid, block), ..)``."""
        self.bind(config)(*args, **kwargs)

    def forall(self, count: int, *, block: int = 256, stream: Any = None, shared: int = 0) -> ForAll:
        """Enough blocks of ``block`` threads for ``count`` threads; none for none."""
        if count < 0:
            raise LaunchError(f"kernel `{self.spec.name}`: forall({count})")
        if self.spec.facts.block is not None:
            block = self.spec.facts.block[0]
        return ForAll(self, count, block, stream, shared)

    def __call__(self, *_args: object, **_kwargs: object) -> None:
        raise LaunchError(
            f"kernel `{self.spec.name}` needs a launch configuration: {self.spec.name}[grid, block](..) "
            f"or {self.spec.name}.forall(n)(..)"
        )

    def __repr__(self) -> str:
        return f"<mirgen kernel {self.spec.signature}>"


class BoundKernel:
    """A kernel with its launch configuration."""

    def __init__(self, launch: Launch, executor: Executor) -> None:
        self._launch = launch
        self._executor = executor

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Launches; arguments are positional or by their Rust names.  Written arrays are changed in place."""
        self._executor.run(self._launch, pack(self._launch.kernel, args, kwargs))

    def __repr__(self) -> str:
        return f"<mirgen kernel {self._launch.kernel.name}[{self._launch.grid}, {self._launch.block}]>"


class ForAll:
    """A kernel over ``count`` threads."""

    def __init__(self, kernel: Kernel, count: int, block: int, stream: Any, shared: int) -> None:
        self._kernel = kernel
        self._count = count
        self._config = LaunchConfig(max(1, -(-count // block)), block, stream, shared)

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Launches, unless there is nothing to do; arguments are checked all the same."""
        bound = self._kernel.bind(self._config)
        if self._count == 0:
            pack(self._kernel.spec, args, kwargs)
            return
        bound(*args, **kwargs)
