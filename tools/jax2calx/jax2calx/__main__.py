"""python -m jax2calx MODULE:FUNCTION -o NAME --args MODULE:VALUE"""
import argparse
import importlib
import re
import sys

import jax

from .export import TYPES, export
from .refuse import CannotExport

BY_TEXT = {v: k for k, v in TYPES.items()}


def named(text):
    """The object that MODULE:NAME names."""
    module, _, name = text.partition(":")
    if not name:
        sys.exit(f"jax2calx: {text}: write MODULE:NAME")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def typed(text):
    """A spec from "f32[8,3]"."""
    match = re.fullmatch(r"([a-z0-9]+)\[([0-9, ]*)\]", text)
    if not match or match[1] not in BY_TEXT or match[1] == "key":
        sys.exit(f"jax2calx: {text}: write a type such as f32[8,3]")
    shape = tuple(int(d) for d in match[2].split(",") if d.strip())
    return jax.ShapeDtypeStruct(shape, BY_TEXT[match[1]])


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="jax2calx", description="Writes a JAX function as a program that "
        "Calx loads (docs/porting.md).")
    parser.add_argument("function", help="MODULE:NAME")
    parser.add_argument("-o", "--output", required=True,
                        help="files begin with this: NAME.calx")
    parser.add_argument("--args", help="MODULE:NAME of a tuple of example "
                        "arguments, or of a function that gives it")
    parser.add_argument("--types", nargs="+", action="extend", default=[],
                        help="types of further arguments: f32[8,3]")
    parser.add_argument("--save", nargs="+", action="extend", default=[],
                        help="arguments to write too: NAME.ARGUMENT.safetensors")
    parser.add_argument("--x64", action="store_true",
                        help="JAX's 64-bit mode")
    given = parser.parse_args(argv)
    sys.path.insert(0, "")
    jax.config.update("jax_enable_x64", given.x64)
    args = named(given.args) if given.args else ()
    args = tuple(args() if callable(args) else args)
    args += tuple(typed(t) for t in given.types)
    try:
        print(export(given.output, named(given.function), *args,
                     save=given.save))
    except (CannotExport, ValueError) as e:
        sys.exit(f"jax2calx: {e}")


if __name__ == "__main__":
    main()
