"""Pytrees as Calx's trees: tuples and dicts, whose keys stand in order."""
import re

import jax
from jax import tree_util

from . import refuse


class Leaf:
    """Leaf number `index` of the flattened pytree."""

    def __init__(self, index):
        self.index = index


def _one_level(node):
    """(key, child) of a node; None for a leaf."""
    pairs, _ = tree_util.tree_flatten_with_path(
        node, is_leaf=lambda x: x is not node)
    if len(pairs) == 1 and pairs[0][0] == ():
        return None
    return [(path[0], child) for path, child in pairs]


def _key_text(key):
    """The name of a child in a dict, or None in a tuple."""
    if isinstance(key, tree_util.DictKey):
        return str(key.key)
    if isinstance(key, tree_util.GetAttrKey):
        return key.name
    return None


def key_order(name):
    """Sorts as Calx does: numbers by value, then text by bytes."""
    if re.fullmatch(r"0|[1-9][0-9]{0,8}", name):
        return (0, int(name), b"")
    return (1, 0, name.encode())


def _build(node, counter):
    if node is None:
        return None
    children = _one_level(node)
    if children is None:
        counter[0] += 1
        return Leaf(counter[0] - 1)
    names = [_key_text(key) for key, _ in children]
    built = [_build(child, counter) for _, child in children]
    if not children:
        return {} if isinstance(node, dict) else ()
    if any(name is None for name in names):
        return tuple(built)
    for name in names:
        if not name or "." in name:
            raise refuse.CannotExport(
                f'the key "{name}" of a tree: Calx wants names without dots')
    if len(set(names)) < len(names):
        raise refuse.CannotExport(f"keys of a tree are equal as text: {names}")
    return dict(sorted(zip(names, built), key=lambda x: key_order(x[0])))


def shape_of(pytree):
    """Nested tuples and dicts with Leaf(i), i as jax.tree.leaves counts."""
    return _build(pytree, [0])


def leaves(tree):
    """The Leaf numbers in Calx's order."""
    if isinstance(tree, Leaf):
        return [tree.index]
    if isinstance(tree, dict):
        tree = tree.values()
    return [] if tree is None else [i for x in tree for i in leaves(x)]


def paths(tree, prefix=""):
    """(dotted path, Leaf number) of each leaf."""
    if isinstance(tree, Leaf):
        return [(prefix, tree.index)]
    if tree is None:
        return []
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [pair for key, x in items
            for pair in paths(x, f"{prefix}.{key}" if prefix else str(key))]


def quoted(name):
    """A name as the signature writes it."""
    if re.fullmatch(r"[A-Za-z0-9_.+-]{1,255}", name):
        return name
    out = ""
    for c in name:
        if c in '"\\':
            out += "\\" + c
        elif ord(c) < 32 or ord(c) == 127:
            out += f"\\x{ord(c):02x}"
        else:
            out += c
    return f'"{out}"'


def text(tree, types):
    """The tree as text, types[i] for leaf i."""
    if isinstance(tree, Leaf):
        return types[tree.index]
    if tree is None:
        return "none"
    if isinstance(tree, dict):
        body = (f"{quoted(k)}: {text(x, types)}" for k, x in tree.items())
        return "{" + ", ".join(body) + "}"
    return "(" + ", ".join(text(x, types) for x in tree) + ")"


def flatten(pytree):
    """(leaves, their tree)."""
    flat = jax.tree.leaves(pytree)
    tree = shape_of(pytree)
    if len(leaves(tree)) != len(flat):
        raise refuse.CannotExport(
            f"a {type(pytree).__name__} is no tree of tuples and dicts")
    return flat, tree
