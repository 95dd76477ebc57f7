"""Functions as JAX users write them, with example arguments.

Each entry: name -> (function, arguments, names of what is differentiated).
tests/jax/make.py records them, with results and gradients, in tests/data/jax.
"""
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

ENTRIES = {}


def entry(*args, wrt=()):
    def keep(f):
        ENTRIES[f.__name__] = (f, args, wrt)
        return f
    return keep


def draw(seed, *shape, scale=1.0):
    x = np.random.default_rng(seed).standard_normal(shape) * scale
    return x.astype(np.float32)


def model(module, seed, *inputs, **options):
    """Parameters of a Flax module."""
    variables = module.init(jax.random.key(seed), *inputs, **options)
    return jax.tree.map(np.asarray, variables)


# -- plain JAX ------------------------------------------------------------------

MLP = {
    "layers": [
        {"w": draw(1, 4, 8, scale=0.5), "b": draw(2, 8, scale=0.1)},
        {"w": draw(3, 8, 3, scale=0.5), "b": draw(4, 3, scale=0.1)},
    ],
}


@entry(MLP, draw(5, 6, 4), np.array([0, 2, 1, 1, 0, 2], np.int32),
       wrt=("params",))
def mlp_loss(params, x, labels):
    *hidden, last = params["layers"]
    for layer in hidden:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    logits = x @ last["w"] + last["b"]
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=1))


CELL = {
    "wz": draw(11, 7, 4, scale=0.4), "wr": draw(12, 7, 4, scale=0.4),
    "wh": draw(13, 7, 4, scale=0.4), "b": draw(14, 3, 4, scale=0.1),
}


@entry(CELL, draw(15, 5, 2, 3), draw(16, 2, 4), wrt=("cell", "xs"))
def gru(cell, xs, h):
    """A GRU over time, (time, batch, features)."""
    def step(h, x):
        hx = jnp.concatenate([h, x], axis=-1)
        z = jax.nn.sigmoid(hx @ cell["wz"] + cell["b"][0])
        r = jax.nn.sigmoid(hx @ cell["wr"] + cell["b"][1])
        rx = jnp.concatenate([r * h, x], axis=-1)
        h = (1 - z) * h + z * jnp.tanh(rx @ cell["wh"] + cell["b"][2])
        return h, h
    h, ys = lax.scan(step, h, xs)
    return jnp.sum(h) + jnp.mean(ys ** 2)


@jax.custom_vjp
def clip_gradient(x, bound):
    return x


clip_gradient.defvjp(
    lambda x, bound: (x, bound),
    lambda bound, ct: (jnp.clip(ct, -bound, bound), jnp.zeros_like(bound)))


@entry(draw(21, 5, scale=2.0), wrt=("x",))
def clipped(x):
    """The gradient is that of the rule, not of the identity."""
    return jnp.sum(clip_gradient(x ** 3, 0.5) * jnp.arange(5.0))


TABLE = draw(22, 3, 5)


@jax.custom_vjp
def looked_up(x, i):
    return x @ TABLE.T * i


def looked_up_fwd(x, i):
    return looked_up(x, i), (jnp.sin(x), i)


def looked_up_bwd(kept, ct):
    s, i = kept
    return ct @ TABLE * i + s, None


looked_up.defvjp(looked_up_fwd, looked_up_bwd)


@entry(draw(23, 2, 5), np.int32(3), wrt=("x",))
def rule_with_constants(x, i):
    """A rule that closes over an array and takes an integer."""
    return jnp.sum(jnp.tanh(looked_up(x, i)))


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t


@entry(np.array([-3.0, 0.0, 4.0, 100.0], np.float32), wrt=("x",))
def stable_softplus(x):
    """At 100 the derivative of the body is NaN, that of the rule is not."""
    return jnp.sum(jnp.tanh(log1pexp(x)))


@jax.custom_jvp
def power_of_e(x):
    return jnp.exp(x)


power_of_e.defjvp(lambda p, t: (power_of_e(*p), power_of_e(*p) * t[0]))


@entry(draw(24, 3, scale=0.5), wrt=("x",))
def rule_of_itself(x):
    """A rule that calls its own function."""
    return jnp.sum(power_of_e(x) * x)


@entry(np.float32(10.0), np.float32(0.3))
def newton(a, x):
    """A while loop: 1/a by Newton's method."""
    def go_on(s):
        x, n = s
        return (jnp.abs(a * x - 1) > 1e-6) & (n < 50)

    def better(s):
        x, n = s
        return x * (2 - a * x), n + 1
    return {"x": lax.while_loop(go_on, better, (x / a, 0))[0]}


@entry(draw(31, 4), np.int32(1), wrt=("x",))
def branches(x, i):
    y = lax.switch(i, [jnp.sin, jnp.exp, lambda v: v * TABLE[0, :4]], x)
    return jnp.sum(lax.cond(jnp.sum(y) > 0, lambda v: v ** 2, jnp.abs, y))


@entry(draw(32, 3, 4), wrt=("x",))
def checkpointed(x):
    f = jax.checkpoint(lambda v: jnp.sin(jnp.dot(v, v.T)),
                       policy=jax.checkpoint_policies.dots_saveable)
    return jnp.sum(f(f(x) @ x))


@entry(draw(33, 8), draw(34, 8), wrt=("a",))
def jitted_vmap_of_grad(a, b):
    g = jax.vmap(jax.grad(lambda u, v: jnp.sinc(u) * v ** 2), in_axes=(0, 0))
    return jnp.sum(jax.jit(g)(a, b))


@entry(jax.random.key(7), draw(35, 4, 3))
def dropout(key, x):
    keep = jax.random.bernoulli(key, 0.7, x.shape)
    noise = jax.random.normal(jax.random.fold_in(key, 1), x.shape)
    return {"dropped": jnp.where(keep, x / 0.7, 0), "noise": noise}


@entry({"9": draw(41, 2), "10": draw(42, 3), "name": None,
        "pair": (draw(43, 2, 2), draw(44))})
def trees(t):
    """Keys are put in order; None stays."""
    return {"b": t["pair"], "a": [t["10"] * 2, t["9"]], "none": t["name"]}


@entry(draw(45, 6).astype(jnp.bfloat16), draw(46, 6).astype(np.float16),
       np.arange(6, dtype=np.uint8), np.array([True, False] * 3))
def dtypes(a, b, c, d):
    return (a * 2, jnp.sqrt(jnp.abs(b)), c + jnp.uint8(250), d ^ True,
            jnp.cumsum(c.astype(jnp.int32)), jnp.argsort(b))


@entry(draw(40, 2, 3), np.array([[1, -1, 0], [2, 0, -3]], np.int32))
def pulled_past_integers(x, i):
    y, pull = jax.vjp(jnp.maximum, x, i)
    return y, pull(x)[0]


@entry(np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.2], np.float32))
def rounded(x):
    return (lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
            lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))


@entry(draw(47, 5, 5), draw(48, 5), wrt=("a",))
def solved(a, b):
    """Linear algebra: a positive definite system."""
    spd = a @ a.T + 5 * jnp.eye(5)
    c = jnp.linalg.cholesky(spd)
    y = jax.scipy.linalg.solve_triangular(c, b, lower=True)
    return jnp.sum(y ** 2) + jnp.linalg.slogdet(spd)[1]


# -- Flax -------------------------------------------------------------------------

class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(8)(x)
        x = nn.LayerNorm()(nn.gelu(x))
        return nn.Dense(2)(x)


PERCEPTRON = Perceptron()


@entry(model(PERCEPTRON, 1, draw(51, 3, 4)), draw(51, 3, 4),
       wrt=("variables",))
def flax_dense(variables, x):
    return jnp.sum(PERCEPTRON.apply(variables, x) ** 2)


class Convolutional(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.max_pool(nn.relu(x), (2, 2), strides=(2, 2))
        x = nn.Conv(2, (3, 3), strides=(2, 2), padding="VALID")(x)
        return nn.Dense(3)(jnp.mean(nn.silu(x), axis=(1, 2)))


CONVOLUTIONAL = Convolutional()


@entry(model(CONVOLUTIONAL, 2, draw(52, 2, 12, 12, 1), train=False),
       draw(52, 2, 12, 12, 1), wrt=("variables",))
def flax_cnn(variables, x):
    y, updated = CONVOLUTIONAL.apply(variables, x, train=True,
                                     mutable=["batch_stats"])
    y = y + sum(jnp.sum(s) for s in jax.tree.leaves(updated))
    return jnp.sum(y ** 2)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        y = nn.MultiHeadDotProductAttention(num_heads=2)(
            nn.LayerNorm()(x), mask=mask)
        x = x + y
        y = nn.Dense(16)(nn.LayerNorm()(x))
        return x + nn.Dense(8)(nn.gelu(y, approximate=False))


BLOCK = Block()


@entry(model(BLOCK, 3, draw(53, 2, 5, 8)), draw(53, 2, 5, 8),
       wrt=("variables",))
def flax_transformer(variables, x):
    return jnp.mean(BLOCK.apply(variables, x) ** 2)


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.RNN(nn.OptimizedLSTMCell(4))(x)
        return nn.Dense(1)(nn.RNN(nn.GRUCell(3), reverse=True)(y))


RECURRENT = Recurrent()


@entry(model(RECURRENT, 4, draw(54, 2, 6, 3)), draw(54, 2, 6, 3),
       wrt=("variables",))
def flax_lstm(variables, x):
    return jnp.sum(jnp.tanh(RECURRENT.apply(variables, x)))


class Embedded(nn.Module):
    @nn.compact
    def __call__(self, ids):
        embed = nn.Embed(11, 4)
        x = nn.RMSNorm()(embed(ids))
        return embed.attend(nn.softmax(x))


EMBEDDED = Embedded()


@entry(model(EMBEDDED, 5, np.zeros((2, 3), np.int32)),
       np.array([[1, 2, 3], [4, 10, 0]], np.int32), wrt=("variables",))
def flax_embed(variables, ids):
    return jnp.sum(jnp.sin(EMBEDDED.apply(variables, ids)))


# -- optax ------------------------------------------------------------------------

OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0),
                        optax.adamw(optax.cosine_decay_schedule(0.1, 100)))


@entry(MLP, jax.tree.map(np.asarray, OPTIMIZER.init(MLP)), draw(5, 6, 4),
       np.array([0, 2, 1, 1, 0, 2], np.int32))
def optax_step(params, state, x, labels):
    loss, grads = jax.value_and_grad(mlp_loss)(params, x, labels)
    updates, state = OPTIMIZER.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


@entry(draw(61, 4, 5), np.array([1, 0, 4, 2], np.int32), wrt=("logits",))
def optax_losses(logits, labels):
    a = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    b = optax.huber_loss(logits, jnp.ones_like(logits))
    c = optax.sigmoid_binary_cross_entropy(logits[:, 0], (labels > 1) * 1.0)
    return jnp.mean(a) + jnp.mean(b) + jnp.sum(c)


# -- what is refused, by name -------------------------------------------------------

REFUSED = {
    "complex64": (lambda x: jnp.real(jnp.fft.fft(x)), (draw(71, 4),)),
    "pure_callback": (
        lambda x: jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct((4,), np.float32), x),
        (draw(72, 4),)),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn), (draw(73, 4),)),
    "debug": (lambda x: [jax.debug.print("{}", x), x][1], (draw(74, 4),)),
    "without dots": (lambda t: t["a.b"], ({"a.b": draw(75, 2)},)),
    "key<rbg>": (jax.random.uniform, (jax.random.key(0, impl="rbg"),)),
}
