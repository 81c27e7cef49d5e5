"""Building a crate for :func:`mirgen.load`: a thin call of the pipeline, in one place."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from mirgen.runtime.cuda import architecture


def build_crate(folder: Path, device: str, *, release: bool, features: tuple[str, ...]) -> Path:
    """Builds the crate in ``folder`` for ``device`` and returns the manifest's path.

    For the simulator no CUDA tool is needed; for a GPU the crate is built for its architecture.
    """
    # The pipeline stands above this layer: it is looked up when a crate has to be built, never for a manifest.
    pipeline: Any = importlib.import_module("mirgen.pipeline")
    options: Any = importlib.import_module("mirgen.cargo.options")
    cargo = options.CargoOptions(
        manifest_path=folder / "Cargo.toml", features=features, profile="release" if release else "dev", quiet=True
    )
    archs = () if device == "sim" else (architecture(device),)
    result = pipeline.build(pipeline.BuildOptions(cargo=cargo, archs=archs))
    return Path(result.manifest_path)
