"""Reading what ``mirgen-rustc`` wrote: wire documents to :mod:`mirgen.mir` and :mod:`mirgen.layout`."""

from mirgen.ingest.layouts import LayoutUnit, load_layouts
from mirgen.ingest.load import load_mir
from mirgen.ingest.unit import Compiler, Header, MirUnit

__all__ = ["Compiler", "Header", "LayoutUnit", "MirUnit", "load_layouts", "load_mir"]
