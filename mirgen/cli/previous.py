"""What the last build of a crate was for: commands that only look or launch keep to it, instead of building the crate
for another architecture and so taking its artefacts away."""

from __future__ import annotations

from mirgen.cargo.build import target_directory
from mirgen.cargo.options import CargoOptions
from mirgen.cli.settings import package_of
from mirgen.errors import MirgenError
from mirgen.link.files import ArtifactFolder
from mirgen.link.manifest import Manifest, load_manifest

_FOLDERS = {"dev": "debug", "test": "debug", "bench": "release"}


def previous_build(options: CargoOptions) -> Manifest | None:
    """The manifest that lies where a build with ``options`` would put its own; ``None`` where there is none."""
    crate = options.example or options.bin or package_of(options.manifest_path, options.package)
    if crate is None:
        return None
    profile = _FOLDERS.get(options.profile, options.profile)
    try:
        folder = ArtifactFolder.of(target_directory(options), profile, crate.replace("-", "_"))
        return load_manifest(folder.root) if folder.root.is_dir() else None
    except MirgenError:
        return None  # the build itself will say what is wrong
