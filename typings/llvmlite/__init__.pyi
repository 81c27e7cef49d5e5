from . import binding as binding, ir as ir

__version__: str
