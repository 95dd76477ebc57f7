/* transformer_xl_use.c - a training step; generation token by token. */
#include "calx/models/optimizer.h"
#include "calx/models/transformer_xl.h"

cx txl_train_init(const txl_config *c, cx params, int64_t batch) {
  return cx_dict("params", params, "adam", adam_init(params), "mems",
                 txl_init_mems(c, batch, c->mem_len));
}
CX_DEFINE_ENV(txl_train_step, txl_training, t, state, ids, targets, key, lr) {
  cx params = cx_get(state, "params"), value, grads, mems, norm, adam;
  cx_fn loss =
      cx_value_and_grad(CX_BIND_TO(txl_loss, &t->model), .has_aux = true);
  cx_unpack(cx_call(loss, params, cx_get(state, "mems"), ids, targets, key),
            &value, &grads);
  cx_unpack(value, &value, &mems);
  if (t->clip > 0)
    grads = clip_by_global_norm(grads, t->clip, &norm);
  else
    norm = cx_global_norm(grads);
  adam_update(params, grads, cx_get(state, "adam"), lr, (adam_options){ 0 },
              &params, &adam);
  return cx_tuple(cx_dict("params", params, "adam", adam, "mems", mems), value,
                  norm);
}

CX_STRUCT(generate_env, (txl_sampling, sampling), (cx, params));
/* carry: (mems, token (b)); x: the step's key */
CX_DEF_ENV(generate_step, generate_env, e, carry, key) {
  cx mems, token, logits;
  cx_unpack(carry, &mems, &token);
  cx_unpack(txl_logits(&e->sampling.model, e->params, mems, cx_expand(token, 1),
                       cx_none()),
            &logits, &mems);
  logits = cx_index(logits, CX_ALL, -1);
  cx next = e->sampling.temperature > 0
                ? cx_categorical(key, cx_div(logits, e->sampling.temperature))
                : cx_argmax(logits, -1);
  return cx_tuple(cx_tuple(mems, next), next);
}
CX_DEFINE_ENV(txl_generate, txl_sampling, s, params, mems, token, key) {
  cx carry, tokens;
  cx_fn step = CX_BIND(generate_step, .sampling = *s, .params = params);
  cx_unpack(cx_scan(step, cx_tuple(mems, token), cx_split_n(key, s->length)),
            &carry, &tokens);
  return cx_tuple(cx_swap_axes(tokens, 0, 1), cx_nth(carry, 0),
                  cx_nth(carry, 1));
}
