"""``python -m mirgen``: the same as the command ``mirgen``."""

from __future__ import annotations

from mirgen.cli import main

if __name__ == "__main__":
    main()
