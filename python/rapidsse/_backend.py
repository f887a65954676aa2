"""Which backend serves: the compiled one where there is one, unless RAPIDSSE_BACKEND says."""

from __future__ import annotations

import os
from types import ModuleType


def choose() -> tuple[str, ModuleType]:
    """The name and the module of the backend.

    Raises:
        ImportError: RAPIDSSE_BACKEND names an unknown or an unavailable one.
    """
    wanted = os.environ.get("RAPIDSSE_BACKEND", "")
    if wanted not in ("", "rust", "python"):
        raise ImportError(f"RAPIDSSE_BACKEND must be 'rust' or 'python', not {wanted!r}")
    if wanted != "python":
        try:
            from rapidsse import _rapidsse

            return "rust", _rapidsse
        except ImportError as error:
            if wanted == "rust":
                raise ImportError(
                    "RAPIDSSE_BACKEND=rust, but the compiled module is not available"
                ) from error
    from rapidsse import _pure

    return "python", _pure
