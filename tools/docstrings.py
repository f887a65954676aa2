"""The reference's signatures and docstrings (a Griffe extension).

The compiled module's stub has the types, with an overload for each combination of options, and no
docstrings. The pure backend, whose docstrings the compiled one repeats, has the words. A page shows
the widest signature with the words.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

PRIVATE = re.compile(r"\b_[A-Z]")


class StubWithWords(griffe.Extension):
    """Puts the pure backend's docstrings onto the objects of the stub."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        stub, pure = pkg["_rapidsse"], pkg["_pure"]
        for name in pure.exports:
            if name in stub.overloads:
                stub.set_member(name, _widest(stub.overloads[name], name))
            shown, told = stub[name], pure[name].final_target
            shown.docstring = told.docstring
            if not shown.is_class:
                continue
            # Of its own, since a class's parameters are looked up in the docstring's parent.
            shown.docstring = griffe.Docstring(told.docstring.value, parent=shown)
            _add_init(shown)
            for member in shown.members.values():
                words = told.all_members.get(member.name)
                if words is not None and words.docstring is not None:
                    member.docstring = words.docstring


def _widest(overloads: list[griffe.Function], name: str) -> griffe.Function:
    """The last overload, which takes what all of them take.

    Where a type is a private name of the stub's it is left out: the words say what it stands for.
    """
    widest = overloads[-1]
    parameters = [
        griffe.Parameter(
            each.name,
            kind=each.kind,
            default=each.default,
            annotation=None if PRIVATE.search(str(each.annotation)) else each.annotation,
        )
        for each in widest.parameters
    ]
    return griffe.Function(
        name,
        parameters=griffe.Parameters(*parameters),
        returns=widest.returns,
        lineno=widest.lineno,
        endlineno=widest.endlineno,
    )


def _add_init(shown: griffe.Class) -> None:
    """What `__new__` takes, where a class's signature is looked for."""
    new = shown.overloads.get("__new__") or [
        member for member in [shown.members.get("__new__")] if isinstance(member, griffe.Function)
    ]
    if new:
        shown.set_member("__init__", _widest(new, "__init__"))
