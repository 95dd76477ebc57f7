"""Jaxprs as JSON, in the form that tests/data/conformance/README.md describes.

Nested jaxprs refer to no arrays: what they close over becomes an operand of
each equation on the way, up to the whole, whose constants stand in a file.
Rules of custom_jvp and custom_vjp are traced, for rules inside rules too.
"""
import inspect

import jax
import numpy as np
from jax import numpy as jnp

from . import params, refuse

# Rules inside rules. A rule that calls its own function has no end; beyond
# these the function is one without derivative, which is an error to ask for.
RULES_DEEP = 3


def is_literal(v):
    return hasattr(v, "val")


def is_dropped(v):
    return type(v).__name__ == "DropVar"


def is_float(aval):
    return jnp.issubdtype(aval.dtype, jnp.floating)


def function_name(jaxpr):
    """What Python calls the function that a jaxpr was traced from; ""."""
    info = getattr(opened(jaxpr)[0], "debug_info", None)
    return str(getattr(info, "func_src_info", None) or "").split(" at ")[0]


def is_key(x):
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def opened(jaxpr):
    """(jaxpr, constants) of a closed or an open one."""
    if hasattr(jaxpr, "jaxpr"):
        return jaxpr.jaxpr, list(jaxpr.consts)
    return jaxpr, []


def specs(avals):
    return [jax.ShapeDtypeStruct(a.shape, a.dtype,
                                 weak_type=getattr(a, "weak_type", False))
            for a in avals]


def function_of(eqn):
    """The function that an equation applies, as JAX would apply it again."""
    def f(*args):
        bound = eqn.primitive.get_bind_params(eqn.params)
        if isinstance(bound, dict):
            out = eqn.primitive.bind(*args, **bound)
        else:
            out = eqn.primitive.bind(*bound[0], *args, **bound[1])
        return list(out) if eqn.primitive.multiple_results else [out]
    return f


def makes_float0(eqn):
    """Whether it makes derivatives of integers alone, which are nothing."""
    return bool(eqn.outvars) and all(
        getattr(v.aval, "dtype", None) == jax.dtypes.float0
        for v in eqn.outvars)


def with_float0(avals, given):
    """given for the floats, "no tangent" for the others."""
    given = iter(given)
    return [next(given) if is_float(a)
            else np.zeros(a.shape, jax.dtypes.float0) for a in avals]


def with_fixed(f, fixed):
    """f of what comes behind the operands that have no derivative."""
    return lambda *rest: f(*fixed, *rest)


def floats(avals, values):
    return [x for a, x in zip(avals, values) if is_float(a)]


class Body:
    """A jaxpr being written: its numbers, and the arrays that it needs."""

    def __init__(self, deep):
        self.deep = deep  # in rules inside rules
        self.n = 0
        self.env = {}
        self.arrays = {}  # id -> (array, binding)
        self.chosen = {}  # index of a branch by platform -> its number
        self.inputs, self.eqns, self.out = [], [], []

    def binding(self, dtype, shape, where="a value"):
        self.n += 1
        if any(not isinstance(d, (int, np.integer)) for d in shape):
            raise refuse.CannotExport(f"{where}: a shape that is not static")
        return {"v": self.n - 1, "dtype": refuse.dtype_name(dtype, where),
                "shape": [int(d) for d in shape]}

    def bind(self, var, where="a value"):
        if not hasattr(var.aval, "dtype"):
            raise refuse.CannotExport(f"{where}: {var.aval} is no array")
        b = self.binding(var.aval.dtype, var.aval.shape, where)
        if getattr(var.aval, "weak_type", False):
            b["weak"] = True
        self.env[var] = b["v"]
        return b

    def literal(self, x):
        x = np.asarray(x)
        dtype = refuse.dtype_name(x.dtype, "a literal")
        return {"lit": params.array(x), "dtype": dtype, "shape": []}

    def array_binding(self, x):
        """The input for an array that the jaxpr closes over."""
        if id(x) not in self.arrays:
            b = self.binding(x.dtype, x.shape, "a constant")
            self.arrays[id(x)] = (x, b)
        return self.arrays[id(x)][1]

    def constant(self, x):
        """The atom of an array: scalars are literals."""
        if hasattr(x, "dtype") and is_key(x):
            raw = self.constant(KEYS.data(x))
            b = self.binding(x.dtype, x.shape, "a key")
            self.eqns.append({"p": "random_wrap", "i": [raw], "o": [b],
                              "k": {"impl": "fry"}})
            return b["v"]
        if not hasattr(x, "dtype") or x.ndim == 0:
            return self.literal(x)
        return self.array_binding(x)["v"]

    def atom(self, v):
        if is_literal(v):
            x = np.asarray(v.val, v.aval.dtype)
            return self.literal(x)
        return self.env[v]

    def bindings_of(self, arrays):
        return [self.array_binding(x) for x in arrays]

    def json(self, lead=(), tail=()):
        """With inputs for arrays before and behind its own."""
        return {"jaxpr": {
            "consts": [],
            "in": self.bindings_of(lead) + self.inputs + self.bindings_of(tail),
            "eqns": self.eqns,
            "out": self.out,
        }}


class Keys:
    """The data of constant keys, the same array each time."""

    def __init__(self):
        self.known = {}

    def data(self, key):
        if id(key) not in self.known:
            self.known[id(key)] = (key, np.asarray(jax.random.key_data(key)))
        return self.known[id(key)][1]


KEYS = Keys()


def arrays_of(*bodies):
    """The arrays that any of them needs, each once."""
    found = {}
    for b in bodies:
        found.update({k: x for k, (x, _) in b.arrays.items()})
    return list(found.values())


def write(jaxpr, deep=0):
    """The Body of a jaxpr, closed or open."""
    jaxpr, consts = opened(jaxpr)
    body = Body(deep)
    body.inputs = [body.bind(v, "an input") for v in jaxpr.invars]
    for var, x in zip(jaxpr.constvars, consts):
        body.env[var] = body.constant(x)
    for eqn in jaxpr.eqns:
        if not makes_float0(eqn):
            write_equation(body, eqn)
    body.out = [body.atom(v) for v in jaxpr.outvars]
    return body


def write_equation(body, eqn):
    name = eqn.primitive.name
    refuse.primitive(name)
    if name == "platform_index":
        choose_platform(body, eqn)
        return
    operands = [body.atom(v) for v in eqn.invars]
    handle = NESTING.get(name, plain)
    name, operands, k = handle(body, eqn, operands)
    out = [None if is_dropped(v) else body.bind(v, name)
           for v in eqn.outvars]
    body.eqns.append({"p": name, "i": operands, "o": out, "k": k})


def atoms(body, arrays):
    return [body.constant(x) for x in arrays]


# -- equations ----------------------------------------------------------------

def plain(body, eqn, operands):
    name = eqn.primitive.name

    def nested(jaxpr):
        b = write(jaxpr, body.deep)
        if b.arrays:
            raise refuse.CannotExport(f"{name}: its function closes over an "
                                      "array")
        return b.json()

    k = {key: params.encode(x, f"{name}: {key}", nested)
         for key, x in eqn.params.items()
         if x is not None and key not in params.DROPPED | {"fill_value"}}
    fill = eqn.params.get("fill_value")
    if fill is not None:
        k["fill_value"] = params.fill_value(fill, f"{name}: fill_value")
    return name, operands, k


def call(name, key="jaxpr"):
    def handle(body, eqn, operands):
        source = eqn.params.get(key, eqn.params.get("call_jaxpr"))
        b = write(source, body.deep)
        arrays = arrays_of(b)
        k = {"jaxpr": b.json(lead=arrays)}
        for extra in ("name", "prevent_cse", "differentiated"):
            if eqn.params.get(extra) is not None:
                k[extra] = params.encode(eqn.params[extra], name, None)
        if eqn.params.get("policy") is not None:
            k["policy"] = params.policy(eqn.params["policy"])
        return name, atoms(body, arrays) + operands, k
    return handle


def scan(body, eqn, operands):
    p = eqn.params
    b = write(p["jaxpr"], body.deep)
    arrays = arrays_of(b)
    k = {key: p[key] for key in ("length", "num_carry", "reverse")}
    k["unroll"] = int(p.get("unroll", 1))
    k["num_consts"] = p["num_consts"] + len(arrays)
    k["jaxpr"] = b.json(lead=arrays)
    return "scan", atoms(body, arrays) + operands, k


def while_loop(body, eqn, operands):
    p = eqn.params
    cond = write(p["cond_jaxpr"], body.deep)
    step = write(p["body_jaxpr"], body.deep)
    of_cond, of_step = arrays_of(cond), arrays_of(step)
    n = p["cond_nconsts"]
    k = {
        "cond_jaxpr": cond.json(lead=of_cond),
        "body_jaxpr": step.json(lead=of_step),
        "cond_nconsts": n + len(of_cond),
        "body_nconsts": p["body_nconsts"] + len(of_step),
    }
    return "while", (atoms(body, of_cond) + operands[:n] +
                     atoms(body, of_step) + operands[n:]), k


def choose_platform(body, eqn):
    """A branch by platform: that of any platform, else that of a CPU."""
    platforms = list(eqn.params["platforms"])
    for wanted in (None, "cpu"):
        for i, names in enumerate(platforms):
            if names == wanted or (names and wanted in names):
                body.chosen[eqn.outvars[0]] = i
                body.env[eqn.outvars[0]] = body.literal(np.int32(i))
                return
    raise refuse.CannotExport(f"platform_index: only for {platforms}")


def cond(body, eqn, operands):
    if not is_literal(eqn.invars[0]) and eqn.invars[0] in body.chosen:
        b = write(eqn.params["branches"][body.chosen[eqn.invars[0]]], body.deep)
        arrays = arrays_of(b)
        return "jit", atoms(body, arrays) + operands[1:], {
            "jaxpr": b.json(lead=arrays)}
    branches = [write(b, body.deep) for b in eqn.params["branches"]]
    arrays = arrays_of(*branches)
    k = {"branches": [b.json(lead=arrays) for b in branches]}
    return "cond", operands[:1] + atoms(body, arrays) + operands[1:], k


SYSTEM_PARTS = ("matvec", "vecmat", "solve", "transpose_solve")


def linear_solve(body, eqn, operands):
    """A system with the functions that apply and solve it."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    k = {"const_lengths": {}, "jaxprs": {}}
    moved, at = [], 0
    for part in SYSTEM_PARTS:
        n = getattr(lengths, part)
        own, at = operands[at:at + n], at + n
        jaxpr = getattr(jaxprs, part)
        if jaxpr is None:
            continue
        b = write(jaxpr, body.deep)
        arrays = arrays_of(b)
        k["jaxprs"][part] = b.json(lead=arrays)
        k["const_lengths"][part] = len(arrays) + n
        moved += atoms(body, arrays) + own
    return "custom_linear_solve", moved + operands[at:], k


# -- custom rules -------------------------------------------------------------

def is_sequential(rule):
    """Whether a rule of custom_vmap is that of sequential_vmap, or of its
    derivative."""
    while getattr(rule, "__qualname__", "").startswith("custom_vmap_jvp."):
        rule = inspect.getclosurevars(rule).nonlocals.get("rule")
    return (getattr(rule, "__qualname__", "").startswith("sequential_vmap.") and
            getattr(rule, "__module__", "").endswith("custom_batching"))


def custom_vmap(body, eqn, operands):
    """Of rules, which are Python, only that which loops goes along."""
    b = write(eqn.params["call"], body.deep)
    arrays = arrays_of(b)
    rule = "sequential_vmap" if is_sequential(eqn.params["rule"]) else "rule"
    return "custom_vmap_call", atoms(body, arrays) + operands, {
        "call": b.json(lead=arrays),
        "rule": {"fn": rule},
        "name": function_name(eqn.params["call"]),
    }


def called(eqn):
    """The function of a custom rule: what it computes."""
    for key in ("call_jaxpr", "fun_jaxpr"):
        if key in eqn.params:
            return eqn.params[key]
    raise refuse.CannotExport(f"{eqn.primitive.name}: not of this JAX")


def fixed_operands(eqn):
    """How many operands, the first ones, have no derivative."""
    return eqn.params.get("num_consts", 0)


def traced(eqn, what, f, *args):
    try:
        return jax.make_jaxpr(f)(*args)
    except refuse.CannotExport:
        raise
    except Exception as e:  # the user's rule
        name = function_name(called(eqn))
        raise refuse.CannotExport(
            f"{eqn.primitive.name} {name}: its {what} cannot be traced: "
            f"{type(e).__name__}: {e}") from e


def constant_of(fixed, avals, arrays):
    """Which operands have no derivative."""
    own = [i < fixed or not is_float(a) for i, a in enumerate(avals)]
    return own + [True] * len(arrays)


def without_rule(body, name, operands, value):
    arrays = arrays_of(value)
    return name, operands + atoms(body, arrays), {
        "call_jaxpr": value.json(tail=arrays), "num_consts": 0,
        "no_rule": True,
    }


def custom_jvp(body, eqn, operands):
    avals = [v.aval for v in eqn.invars]
    out_avals = [v.aval for v in eqn.outvars]
    f = function_of(eqn)
    value = write(called(eqn), body.deep)
    if body.deep == RULES_DEEP:
        return without_rule(body, "custom_jvp_call", operands, value)

    fixed = fixed_operands(eqn)

    def rule(primals, tangents):
        out, dout = jax.jvp(with_fixed(f, primals[:fixed]), primals[fixed:],
                            with_float0(avals[fixed:], tangents))
        return out, floats(out_avals, dout)

    closed = traced(eqn, "rule", rule, specs(avals),
                    floats(avals[fixed:], specs(avals[fixed:])))
    jvp = write(closed, body.deep + 1)
    arrays = arrays_of(value, jvp)
    primals, tangents = jvp.inputs[:len(avals)], jvp.inputs[len(avals):]
    jvp.inputs = primals + jvp.bindings_of(arrays) + tangents
    k = {
        "call_jaxpr": value.json(tail=arrays),
        "num_consts": 0,
        "jvp_jaxpr": jvp.json(),
        "jvp_in_zeros": constant_of(fixed, avals, arrays),
        "jvp_out_zeros": [not is_float(a) for a in out_avals],
    }
    return "custom_jvp_call", operands + atoms(body, arrays), k


def vjp_jaxprs(eqn, avals, out_avals):
    """How many operands are fixed, fwd: operands -> residuals, results;
    bwd: residuals, cotangents -> cotangents, both of floats alone; how many
    residuals.

    An equation inside a rule counts no constants any more, and JAX refuses to
    differentiate with respect to them: then there are more of them."""
    fixed = fixed_operands(eqn)
    while True:
        try:
            return (fixed, *vjp_jaxprs_of(eqn, avals, out_avals, fixed))
        except refuse.CannotExport as e:
            known = type(e.__cause__).__name__ == "CustomVJPException"
            if not known or fixed == len(avals):
                raise
            fixed += 1


def vjp_jaxprs_of(eqn, avals, out_avals, fixed):
    f = function_of(eqn)
    kept = {}

    def fwd(*primals):
        out, pull = jax.vjp(with_fixed(f, primals[:fixed]), *primals[fixed:])
        residuals, kept["tree"] = jax.tree.flatten(pull)
        kept["n"] = len(residuals)
        return residuals, out

    def bwd(residuals, cotangents):
        pull = jax.tree.unflatten(kept["tree"], residuals)
        return floats(avals[fixed:], pull(with_float0(out_avals, cotangents)))

    first = traced(eqn, "fwd", fwd, *specs(avals))
    residuals = first.out_avals[:kept["n"]]
    second = traced(eqn, "bwd", bwd, specs(residuals),
                    floats(out_avals, specs(out_avals)))
    return first, second, kept["n"]


def custom_vjp(body, eqn, operands):
    avals = [v.aval for v in eqn.invars]
    out_avals = [v.aval for v in eqn.outvars]
    value = write(called(eqn), body.deep)
    if body.deep == RULES_DEEP:
        return without_rule(body, "custom_vjp_call", operands, value)
    fixed, first, second, n = vjp_jaxprs(eqn, avals, out_avals)
    fwd, bwd = write(first, body.deep + 1), write(second, body.deep + 1)
    arrays, of_bwd = arrays_of(value, fwd, bwd), arrays_of(bwd)
    place = {id(x): len(avals) + i for i, x in enumerate(arrays)}
    k = {
        "call_jaxpr": value.json(tail=arrays),
        "num_consts": 0,
        "fwd_jaxpr": fwd.json(tail=arrays),
        "fwd_num_res": n,
        "fwd_input_fwds": [place[id(x)] for x in of_bwd] + [None] * n,
        "bwd_jaxpr": bwd.json(lead=of_bwd),
        "bwd_out_zeros": constant_of(fixed, avals, arrays),
        "name": function_name(called(eqn)),
    }
    return "custom_vjp_call", operands + atoms(body, arrays), k


NESTING = {
    "jit": call("jit"), "pjit": call("jit"), "closed_call": call("jit"),
    "core_call": call("jit"), "custom_vmap_call": custom_vmap,
    "remat_opt": call("jit", "fwd_jaxpr"),
    "remat2": call("remat2"), "checkpoint": call("remat2"),
    "scan": scan, "while": while_loop, "cond": cond,
    "custom_jvp_call": custom_jvp, "custom_vjp_call": custom_vjp,
    "custom_vjp_call_jaxpr": custom_vjp, "custom_linear_solve": linear_solve,
}
