"""Records what JAX says of functions with rules of their own inside control
flow and transforms: record.py > values.tsv

A line: function, wrappers (outermost first), sign of x, then after a tab each:
the value, the gradient by x and by w of the sum of sines, the gradient of the
sum of sines of the gradient by x, the tangent along dx and dw ("-" where only
reverse mode is defined). In f64. composition_test.c says the same in C.
"""
import itertools
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from jax import lax

X, W, N = jnp.array([0.3, -0.7, 1.1]), 0.8, 2
DX, DW = jnp.array([0.5, -1.0, 0.25]), 0.3

# -- functions of (x, w, n); their rules are not their derivatives ------------


@jax.custom_jvp
def rule_jvp(x, w):
    return jnp.sin(x) * w


@rule_jvp.defjvp
def _(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    return jnp.sin(x) * w, 2 * jnp.cos(x) * w * dx + 3 * jnp.sin(x) * dw


@jax.custom_jvp
def rule_jvp_int(x, w, n):
    return x * w + n


@rule_jvp_int.defjvp
def _(primals, tangents):
    (x, w, n), (dx, dw, _) = primals, tangents
    return x * w + n, 2 * w * dx + 0.5 * n * x * dw


@jax.custom_jvp
def rule_jvp_aux(x, w, n):
    return x * w, n + 1


@rule_jvp_aux.defjvp
def _(primals, tangents):
    (x, w, n), (dx, dw, _) = primals, tangents
    zero = jnp.zeros((), jax.dtypes.float0)
    return (x * w, n + 1), (2 * dx * w + 4 * x * dw, zero)


@jax.custom_vjp
def rule_vjp(x, w):
    return x * w


rule_vjp.defvjp(lambda x, w: (x * w, (x, w)),
                lambda r, ct: (3 * ct * r[1], jnp.sum(5 * ct * r[0])))


@jax.custom_vjp
def rule_vjp_int(x, w, n):
    return x * w + n


rule_vjp_int.defvjp(
    lambda x, w, n: (x * w + n, (x, w, n)),
    lambda r, ct: (ct * r[1] * r[2], 2 * jnp.sum(ct * r[0]), None))


@jax.custom_vjp
def rule_vjp_aux(x, w):
    return x * w, x * x


rule_vjp_aux.defvjp(
    lambda x, w: ((x * w, x * x), (x, w)),
    lambda r, ct: (3 * ct[0] * r[1] + 7 * ct[1] * r[0],
                   jnp.sum(5 * ct[0] * r[0])))


def jvp_int(x, w, n):
    return rule_jvp_int(x, w, n)


def jvp_aux(x, w, n):
    y, k = rule_jvp_aux(x, w, n)
    return y * k


def vjp_aux(x, w, n):
    y, aux = rule_vjp_aux(x, w)
    return y + 0.25 * aux


def captured(x, w, n):
    doubled = 2 * w
    return (lambda a: rule_vjp(a, doubled))(x)


FUNCTIONS = {
    "jvp": lambda x, w, n: rule_jvp(x, w), "jvp_int": jvp_int,
    "jvp_aux": jvp_aux, "vjp": lambda x, w, n: rule_vjp(x, w),
    "vjp_int": lambda x, w, n: rule_vjp_int(x, w, n), "vjp_aux": vjp_aux,
    "captured": captured}

# -- wrappers -----------------------------------------------------------------


def vmapped(h):
    def f(x, w, n):
        rows = jnp.reshape(x, (1,)) if x.ndim == 0 else x
        return jnp.reshape(jax.vmap(h, (0, None, None))(rows, w, n), x.shape)
    return f


WRAPPERS = {
    "S": lambda h: lambda x, w, n: lax.scan(
        lambda c, _: (h(c, w, n), None), x, None, length=2)[0],
    "B": lambda h: lambda x, w, n: lax.cond(
        jnp.sum(x) > 0, lambda a: h(a, w, n), lambda a: 2 * a, x),
    # a bounded loop: JAX has a reverse mode of the static one alone
    "W": lambda h: lambda x, w, n: lax.fori_loop(
        0, 2, lambda i, c: h(c, w, n), x),
    "C": jax.checkpoint, "V": vmapped, "J": jax.jit}


def wrapped(h, word):
    for letter in reversed(word):
        h = WRAPPERS[letter](h)
    return h


def numbers(a):
    return " ".join("%.14g" % v for v in jnp.ravel(a))


def main():
    words = [""] + list(WRAPPERS) + ["".join(p) for p in
                                     itertools.product(WRAPPERS, repeat=2)]
    for name, word in itertools.product(FUNCTIONS, words):
        f = wrapped(FUNCTIONS[name], word)

        def loss(x, w):
            return jnp.sum(jnp.sin(f(x, w, N)))

        def slope(x):
            return jnp.sum(jnp.sin(jax.grad(loss)(x, W)))

        def all_of(x):
            out = [f(x, W, N), *jax.grad(loss, (0, 1))(x, W),
                   jax.grad(slope)(x)]
            if name.startswith("jvp"):
                out.append(jax.jvp(lambda x, w: f(x, w, N), (x, W),
                                   (DX, DW))[1])
            return out

        compiled = jax.jit(all_of)
        for sign in (1, -1):
            fields = [numbers(a) for a in compiled(sign * X)]
            print(name, word or "-", sign, *(fields + ["-"])[:5], sep="\t",
                  flush=True)


main()
