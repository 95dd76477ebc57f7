/* 15_bert.c - BERT from a checkpoint: hidden states, a classifier's gradient
 * through all of it, the model for a batch at once. A small checkpoint with
 * recorded results stands for a real one:
 *   15_bert [FOLDER with config.json, model.safetensors, ...] */
#include <stdio.h>
#include "calx.h"
#include "calx/models/bert.h"

CX_STRUCT(classifier, (bert_config, bert));
/* Mean cross entropy of two classes, read off the pooled first token. */
CX_DEF_ENV(loss, classifier, c, params, ids, mask, labels) {
  cx bert = cx_get(params, "bert");
  cx h =
      bert_encode(&c->bert, bert, ids, cx_none(), mask, cx_none(), cx_none());
  cx logits = cx_matmul(bert_pool(bert, h), cx_get(params, "head"));
  return cx_cross_entropy(logits, labels, -100);
}

int main(int argc, char **argv) {
  const char *folder =
      argc > 1 ? argv[1] : "tests/data/reference/bert/model_gelu";
  char path[1024];
  cx_ctx *ctx = cx_open("cpu");
  classifier model = { 0 };
  bert_config_load(folder, &model.bert);
  cx bert = bert_load(&model.bert, folder);
  snprintf(path, sizeof path, "%s/inputs.safetensors", folder);
  cx in = cx_load(path);
  snprintf(path, sizeof path, "%s/outputs.safetensors", folder);
  cx want = cx_get(cx_load(path), "last_hidden_state");

  cx_fn encode = cx_jit(CX_BIND_TO(bert_encode, &model.bert));
  cx ids = cx_get(in, "input_ids"), mask = cx_get(in, "attention_mask");
  cx h = cx_call(encode, bert, ids, cx_get(in, "token_type_ids"), mask,
                 cx_none(), cx_none());
  double difference = cx_item(cx_max(cx_abs(cx_sub(h, want))));
  printf("%d layers, hidden states %s, within %s of the recorded ones\n",
         model.bert.num_hidden_layers, cx_show(h),
         difference < 1e-5 ? "1e-5" : "more than 1e-5");

  /* Fine-tuning: a few steps of gradient descent on all parameters. */
  cx head =
      cx_mul(0.1, cx_normal(cx_key(0), CX_F32, model.bert.hidden_size, 2));
  cx params = cx_keep(cx_dict("bert", bert, "head", head));
  cx labels = cx_rem(cx_arange(0, cx_dim(ids, 0), 1, CX_I32), 2);
  model.bert.checkpoint_layers = true; /* keep only each layer's input */
  cx_fn slope = cx_jit(cx_value_and_grad(CX_BIND_TO(loss, &model)));
  double first = 0, last = 0;
  for (int i = 0; i < 10 && cx_ok(); i++) {
    CX_SCOPE;
    cx value, grads;
    cx_unpack(cx_call(slope, params, ids, mask, labels), &value, &grads);
    cx_swap(&params, cx_sub(params, cx_mul(0.1, grads)));
    last = cx_item(value);
    if (i == 0) first = last;
  }
  printf("fine-tuned: loss %.3f, then %.3f\n", first, last);
  cx_drop(params);
  const char *message;
  cx_code code = cx_error(&message);
  if (code) fprintf(stderr, "%s\n", message);
  cx_close(ctx);
  return code || !(difference < 1e-5) || !(last < first);
}
