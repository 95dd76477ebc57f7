"""Functions as JAX users write them, with example arguments.

Each entry: name -> (function, arguments, names of what is differentiated, what
else is recorded: "jvp", "vmap", the name of a custom_vjp function that forward
mode stops at). tests/jax/make.py records them, with results and gradients, in
tests/data/jax.
"""
import functools

import flax.linen as nn
import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

ENTRIES = {}


def entry(*args, wrt=(), also=(), no_jvp=None):
    def keep(f):
        ENTRIES[f.__name__] = (f, args, wrt, also, no_jvp)
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


# -- rules and calls of every kind ------------------------------------------------

@jax.custom_batching.sequential_vmap
def one_by_one(x, w):
    return jnp.sin(x) * w, jnp.sum(x)


@entry(draw(81, 3), draw(82, 3), wrt=("x",), also=("jvp", "vmap"))
def sequential(x, w):
    """A batching rule that is a loop; JAX has no reverse mode of it."""
    a, b = one_by_one(x, w)
    return jnp.sum(a) * b


@jax.custom_batching.custom_vmap
def batched_scale(x):
    return 2 * x


@batched_scale.def_vmap
def batched_scale_rule(axis_size, in_batched, x):
    return 20 * x, True


@entry(draw(83, 3), wrt=("x",), also=("jvp",))
def rule_stays_in_python(x):
    """Its vmap is refused: the rule is asked for each size of a batch."""
    return jnp.sum(batched_scale(x) ** 2)


@entry(draw(84, 4, 3), wrt=("x",), also=("jvp", "vmap"))
def rule_was_applied(x):
    """A vmap that JAX takes has the rule in it."""
    return jnp.sum(jax.vmap(batched_scale)(x) ** 2)


@entry(np.float32(3.0), wrt=("a",), also=("jvp", "vmap"))
def rooted(a):
    """custom_root: the derivative is that of the implicit function."""
    def newton_steps(f, y):
        return lax.fori_loop(0, 9, lambda i, y: y - (y ** 3 - a) / (3 * y * y),
                             y)
    return lax.custom_root(lambda y: y ** 3 - a, 1.0, newton_steps,
                           lambda g, y: y / g(1.0)) * a


@entry(draw(85, 3, 3), draw(86, 3), wrt=("a", "b"), also=("jvp", "vmap"))
def linear_system(a, b):
    """custom_linear_solve with a transpose of its own."""
    a = a @ a.T + 3 * jnp.eye(3) + jnp.triu(a)
    x = lax.custom_linear_solve(
        lambda v: a @ v, b, lambda mv, b: jnp.linalg.inv(a) @ b,
        lambda vm, b: jnp.linalg.inv(a).T @ b)
    return jnp.sum(jnp.sin(x))


@entry(draw(87, 2, 7), wrt=("x",), also=("jvp", "vmap"))
def approximate_best(x):
    best, i = lax.approx_max_k(x, 3)
    least, k = lax.approx_min_k(x, 2, reduction_dimension=0)
    weight = jnp.cos(i.astype(jnp.float32))
    return jnp.sum(best ** 2 * weight) + jnp.sum(least * (1.0 + k))


@jax.custom_gradient
def cube_of_own_slope(x):
    return x ** 3, lambda ct: (ct * 5 * x,)


@entry(draw(88, 4), wrt=("x",), also=("vmap",), no_jvp="wrapped_fun")
def gradient_of_ones_own(x):
    return jnp.sum(cube_of_own_slope(x))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def applied(f, x, n):
    return f(x) * n


applied.defvjp(lambda f, x, n: (f(x) * n, x),
               lambda f, n, x, ct: (ct * n * f(x) * 7,))


@entry(draw(89, 4), wrt=("x",), also=("vmap",), no_jvp="applied")
def arguments_without_slope(x):
    return jnp.sum(applied(jnp.sin, x, 3))


@jax.custom_vjp
def waved(x):
    return jnp.sin(x) * x


waved.defvjp(lambda x: (jnp.sin(x) * x, (jnp.cos(x), x)),
             lambda kept, ct: (ct * kept[0] * kept[1] * 11,),
             optimize_remat=True)


@entry(draw(90, 4), wrt=("x",), also=("vmap",), no_jvp="waved")
def rule_for_remat(x):
    return jnp.sum(jax.checkpoint(waved)(waved(x)))


@jax.custom_jvp
def weighed(x, w):
    return x * w


weighed.defjvps(lambda t, out, x, w: t * w * 3, None)


@entry(draw(91, 4), draw(92, 4), wrt=("x", "w"), also=("jvp", "vmap"))
def rules_by_argument(x, w):
    """defjvps, where None is no derivative."""
    return jnp.sum(weighed(x, w) + weighed(w, x))


def policies():
    p = jax.checkpoint_policies
    names = p.save_only_these_names("a")
    return [
        None, p.everything_saveable, p.nothing_saveable, p.dots_saveable,
        p.checkpoint_dots, p.dots_with_no_batch_dims_saveable,
        p.checkpoint_dots_with_no_batch_dims, names,
        p.save_any_names_but_these("a"),
        p.save_anything_except_these_names("a"),
        p.offload_dot_with_no_batch_dims("device", "pinned_host"),
        p.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"],
            offload_src="device", offload_dst="pinned_host"),
        p.save_from_both_policies(names, p.dots_saveable),
        p.save_from_both_policies(names, p.save_only_these_names("b")),
    ]


@entry(draw(93, 3, 3), wrt=("x",), also=("jvp", "vmap"))
def every_policy(x):
    from jax.ad_checkpoint import checkpoint_name

    def layer(x):
        a = checkpoint_name(jnp.sin(x @ x), "a")
        return checkpoint_name(jnp.tanh(a @ x), "b")
    total = 0.0
    for policy in policies():
        total += jnp.sum(jax.checkpoint(layer, policy=policy)(x))
    return total


@entry(draw(94, 4), wrt=("x",), also=("jvp", "vmap"))
def calls_by_name(x):
    @functools.partial(jax.named_call, name="layer")
    def layer(x):
        with jax.named_scope("inside"):
            return jnp.sin(x)
    # JAX has no derivative of composite.
    e = lax.composite(lambda v: jnp.exp(v), "my.exp")(jnp.arange(4.0))
    y, z = lax.optimization_barrier((e * layer(x), x * 2))
    return jnp.sum(y * z + lax.stop_gradient(y))


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

def my_policy(prim, *args, **params):
    return True


def filled_with_too_much(x):
    with jax.enable_x64(True):
        a = jnp.zeros(3, jnp.int64).at[jnp.full(2, 5)]
        return a.get(mode="fill", fill_value=2 ** 53 + 1)


REFUSED = {
    "fill_value: 9007199254740993 is no number of f64": (
        filled_with_too_much, (draw(74, 4),)),
    "complex64": (lambda x: jnp.real(jnp.fft.fft(x)), (draw(71, 4),)),
    "pure_callback": (
        lambda x: jax.pure_callback(
            np.sin, jax.ShapeDtypeStruct((4,), np.float32), x),
        (draw(72, 4),)),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn), (draw(73, 4),)),
    "debug": (lambda x: [jax.debug.print("{}", x), x][1], (draw(74, 4),)),
    "debug_callback": (
        lambda x: [jax.debug.callback(lambda v: None, x), x][1],
        (draw(74, 4),)),
    "io_callback": (
        lambda x: jax.experimental.io_callback(
            np.sin, jax.ShapeDtypeStruct((4,), np.float32), x),
        (draw(74, 4),)),
    "linear_call": (
        lambda x: jax.custom_derivatives.linear_call(
            lambda r, v: v * r, lambda r, ct: ct * r, x, x),
        (draw(74, 4),)),
    "its policy my_policy is a Python function": (
        lambda x: jax.checkpoint(jnp.sin, policy=my_policy)(x),
        (draw(74, 4),)),
    "without dots": (lambda t: t["a.b"], ({"a.b": draw(75, 2)},)),
    "key<rbg>": (jax.random.uniform, (jax.random.key(0, impl="rbg"),)),
}
