"""Where the shipped catalogue and scenarios are: inside the wheel, else in the checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_folder(name: str) -> Path:
    """Return the folder `name` (``catalog`` or ``scenarios``) of this installation.

    Raises
    ------
    FileNotFoundError
        If the installation is broken and holds neither.
    """
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"this installation lacks its '{name}' folder; install it again")


def shown_name(path: Path) -> str:
    """Return `path` as messages show it: shipped files from their folder's name on."""
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)
