/* transformer_xl_words.c - adaptive embedding and projected adaptive softmax.
 *
 * The vocabulary is cut at c->cutoffs into clusters of falling frequency.
 * With div_val > 1 the words of cluster i have d_embed / div_val^i numbers,
 * projected to d_model: Baevski & Auli 2019, arXiv:1809.10853. The softmax of
 * the first cluster holds a column for each of the others: Grave et al. 2017,
 * arXiv:1609.04309. Shapes are static, so every cluster is computed for every
 * token. What parameters share is told by which of them there are. */
#include "transformer_xl_words.h"

#include <math.h>

static int64_t cluster_start(const txl_config *c, int i) {
  return i == 0 ? 0 : c->cutoffs.d[i - 1];
}
static int64_t cluster_end(const txl_config *c, int i) {
  return i < c->cutoffs.n ? c->cutoffs.d[i] : c->vocab_size;
}
static int64_t cluster_size(const txl_config *c, int i) {
  return cluster_end(c, i) - cluster_start(c, i);
}
static int embed_width(const txl_config *c) {
  return c->d_embed ? c->d_embed : c->d_model;
}
static bool is_divided(const txl_config *c) {
  return c->div_val > 1;
}
/* Numbers of a word of cluster i. */
static int64_t cluster_width(const txl_config *c, int i) {
  int64_t width = embed_width(c);
  for (int k = 0; is_divided(c) && k < i; k++) width /= c->div_val;
  return width;
}
static bool is_projected(const txl_config *c) {
  return is_divided(c) || embed_width(c) != c->d_model;
}

/* -- parameters ----------------------------------------------------------- */

static cx normal(cx key, double std, int64_t rows, int64_t columns) {
  return cx_mul(std, cx_normal(key, CX_F32, rows, columns));
}
cx cxi_txl_words_init(const txl_config *c, cx key) {
  cx words = cx_none(), crit = cx_none(), k1, k2, k3, k4;
  cx_split(key, &k1, &k2, &k3, &k4);
  int tables = is_divided(c) ? c->cutoffs.n + 1 : 1;
  for (int i = 0; i < tables; i++) {
    int64_t n = is_divided(c) ? cluster_size(c, i) : c->vocab_size;
    int64_t width = cluster_width(c, i);
    words = cx_put(words, normal(cx_fold(k1, i), 0.02, n, width),
                   "emb_layers.%d.weight", i);
    if (is_projected(c))
      words = cx_put(words, normal(cx_fold(k2, i), 0.01, c->d_model, width),
                     "emb_projs.%d", i);
    crit = cx_put(crit, cx_zeros(CX_F32, n), "out_layers.%d.bias", i);
  }
  if (is_projected(c))
    crit = cx_put(crit, normal(k3, 0.01, c->d_model, embed_width(c)),
                  "out_projs.0");
  if (c->cutoffs.n > 0) {
    crit = cx_put(crit, normal(k4, 0.02, c->cutoffs.n, embed_width(c)),
                  "cluster_weight");
    crit = cx_put(crit, cx_zeros(CX_F32, c->cutoffs.n), "cluster_bias");
  }
  return cx_dict("word_emb", words, "crit", crit);
}

/* -- words in ------------------------------------------------------------- */

static cx project_up(cx words, int i, cx x) {
  if (!cx_has(words, "emb_projs.%d", i)) return x;
  return cx_einsum("...e,de->...d", x, cx_get(words, "emb_projs.%d", i));
}
static cx embed_cluster(const txl_config *c, cx words, int i, cx ids) {
  int64_t start = cluster_start(c, i), last = cluster_size(c, i) - 1;
  cx local = cx_minimum(cx_maximum(cx_sub(ids, start), 0), last);
  cx table = cx_get(words, "emb_layers.%d.weight", i);
  return project_up(words, i, cx_take(table, local, 0));
}
cx cxi_txl_embed(const txl_config *c, cx params, cx ids) {
  cx words = cx_get(params, "word_emb"), x;
  if (!is_divided(c)) {
    x = cx_take(cx_get(words, "emb_layers.0.weight"), ids, 0);
    x = project_up(words, 0, x);
  } else {
    x = embed_cluster(c, words, 0, ids);
    for (int i = 1; i <= c->cutoffs.n; i++) {
      cx here = cx_expand(cx_ge(ids, cluster_start(c, i)), -1);
      x = cx_where(here, embed_cluster(c, words, i, ids), x);
    }
  }
  return cx_mul(x, sqrt((double)c->d_model));
}

/* -- words out ------------------------------------------------------------ */

/* The projection of cluster i: its own, or the embedding's. */
static cx project_down(const txl_config *c, cx params, int i, cx hidden) {
  if (!is_projected(c)) return hidden;
  cx p = cx_has(params, "crit.out_projs.%d", i)
             ? cx_get(params, "crit.out_projs.%d", i)
             : cx_get(params, "word_emb.emb_projs.%d", is_divided(c) ? i : 0);
  return cx_einsum("...d,de->...e", hidden, p);
}
/* The weight (n, width) and bias (n) of cluster i. */
static void cluster_layer(const txl_config *c, cx params, int i, cx *out_weight,
                          cx *out_bias) {
  int table = is_divided(c) ? i : 0;
  cx weight = cx_has(params, "crit.out_layers.%d.weight", table)
                  ? cx_get(params, "crit.out_layers.%d.weight", table)
                  : cx_get(params, "word_emb.emb_layers.%d.weight", table);
  cx bias = cx_get(params, "crit.out_layers.%d.bias", table);
  if (!is_divided(c) && c->cutoffs.n > 0) {
    cx_ix rows = CX_RANGE(cluster_start(c, i), cluster_end(c, i));
    weight = cx_index(weight, rows), bias = cx_index(bias, rows);
  }
  *out_weight = weight, *out_bias = bias;
}
static cx cluster_logits(const txl_config *c, cx params, int i, cx hidden) {
  cx weight, bias;
  cluster_layer(c, params, i, &weight, &bias);
  if (i == 0 && c->cutoffs.n > 0) {
    weight = cx_concat(0, weight, cx_get(params, "crit.cluster_weight"));
    bias = cx_concat(0, bias, cx_get(params, "crit.cluster_bias"));
  }
  hidden = project_down(c, params, i, hidden);
  return cx_add(cx_einsum("...e,ne->...n", hidden, weight), bias);
}
cx cxi_txl_scores(const txl_config *c, cx params, cx hidden) {
  cx parts[CX_MAX_DIMS + 1], head = cluster_logits(c, params, 0, hidden);
  if (c->cutoffs.n == 0) return head;
  head = cx_log_softmax(head);
  int64_t shortlist = cluster_end(c, 0);
  parts[0] = cx_index(head, CX_DOTS, CX_TO(shortlist));
  for (int i = 1; i <= c->cutoffs.n; i++) {
    int64_t column = shortlist + i - 1;
    cx whole = cx_index(head, CX_DOTS, CX_RANGE(column, column + 1));
    cx inside = cx_log_softmax(cluster_logits(c, params, i, hidden));
    parts[i] = cx_add(inside, whole);
  }
  return cx_concat(-1, cx_tuple_n(c->cutoffs.n + 1, parts));
}
