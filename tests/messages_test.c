/* messages_test.c - docs/errors.md shows what each kind of error looks like.
 *
 * The calls below are made, and stand on the page with the message they give.
 * With the argument --write the page's examples are written anew; otherwise
 * they must be what would be written. */
#include "support/calls.h"
#include "support/page.h"

CX_DEF(loss, w, x) {
  return cx_sum(cx_mul(w, x));
}
CX_DEF(square, x) {
  return cx_mul(x, x);
}
CX_DEF(cell, h, x) {
  return cx_tuple(cx_reshape(cx_add(h, x), 1, 64), h);
}
CX_DEF(step, x) {
  return cx_mul(x, cx_item(cx_sum(x)));
}
CX_DEF(forever, x) {
  return cx_call(CX_FN(forever), x);
}
CX_DEF(unfinished, s) {
  return cx_lt(s, 100);
}
CX_DEF(twice, s) {
  return cx_mul(2, s);
}
CX_DEF(loop, x) {
  return cx_while(CX_FN(unfinished), CX_FN(twice), x);
}
CX_DEF(fwd, x) {
  return cx_tuple(cx_mul(x, x), x);
}
CX_DEF(bwd, x, ct) {
  return cx_tuple(cx_mul(x, ct));
}
CX_DEF(squared, x) {
  return cx_call(cx_custom_vjp(CX_FN(square), CX_FN(fwd), CX_FN(bwd)), x);
}
CX_DEF(logarithm, x) {
  return cx_sum(cx_log(x));
}
static cx table;
CX_DEF(lookup, i) {
  return cx_take(table, i, 0);
}

/* -- a call and its message, as text -------------------------------------- */

static cxi_bytes part;
/* The message without "FILE:LINE: "; other places it names stay short. */
static void add_message(const char *message) {
  for (const char *s = message; *s; s++)
    if (strncmp(s, __FILE__, strlen(__FILE__)) == 0 && s[strlen(__FILE__)]) {
      s += strlen(__FILE__) + 1; /* ":" */
      while (*s >= '0' && *s <= '9') s++;
      if (s[0] == ':' && s[1] == ' ')
        s++;
      else
        s--, page_add(&part, "model.c:12");
    } else
      page_add(&part, *s == '\n' ? "\n    " : "%c", *s);
}
static void show(cx_code code, const char *call) {
  const char *message;
  const cx_code got = cx_error(&message);
  if (got != code)
    fail_msg("%s: %s, not %s: %s", call, cx_code_name(got), cx_code_name(code),
             message);
  page_add(&part, "%s\n    ", call);
  add_message(message);
  page_add(&part, "\n");
}
#define SHOW(code, call) \
  do {                   \
    cx r_ = (call);      \
    show(code, #call);   \
    (void)r_;            \
  } while (0)
#define SHOW_FALSE(code, call) \
  do {                         \
    assert_false(call);        \
    show(code, #call);         \
  } while (0)

static bool write;
static void end_part(const char *name) {
  assert_false(part.failed);
  cxi_bytes text = { 0 };
  page_add(&text, "```\n");
  cxi_bytes_add(&text, part.data, part.n);
  page_add(&text, "```\n");
  const char *wrong = page_part("docs/errors.md", name, &text, write);
  cxi_bytes_free(&text);
  cxi_bytes_free(&part);
  part = (cxi_bytes){ 0 };
  if (wrong) fail_msg("%s", wrong);
}

/* -- the codes ------------------------------------------------------------ */

static void shapes(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 128, 784), v = cx_ones(CX_F32, 128);
  SHOW(CX_ESHAPE, cx_matmul(x, cx_ones(CX_F32, 3, 4)));
  SHOW(CX_ESHAPE, cx_add(x, cx_ones(CX_F32, 100)));
  SHOW(CX_ESHAPE, cx_reshape(x, 100, -1));
  SHOW(CX_ESHAPE, cx_call(cx_grad(CX_FN(square)), v));
  SHOW(CX_ESHAPE, cx_call(cx_vmap(CX_FN(loss)), v, cx_ones(CX_F32, 64)));
  cx h = cx_zeros(CX_F32, 64), xs = cx_zeros(CX_F32, 5, 64);
  SHOW(CX_ESHAPE, cx_scan(CX_FN(cell), h, xs));
  end_part("CX_ESHAPE");
}

static void dtypes(void **state) {
  (void)state;
  CX_SCOPE;
  cx i = cx_ones(CX_I32, 3), x = cx_ones(CX_F32, 3);
  SHOW(CX_EDTYPE, cx_add(i, x));
  SHOW(CX_EDTYPE, cx_mul(i, 0.5));
  SHOW(CX_EDTYPE, cx_call(cx_grad(CX_FN(loss)), i, i));
  SHOW(CX_EDTYPE, cx_take(x, x, 0));
  double buffer[3];
  SHOW_FALSE(CX_EDTYPE, cx_read(x, buffer, 3));
  end_part("CX_EDTYPE");
}

static void trees(void **state) {
  (void)state;
  CX_SCOPE;
  cx w = cx_ones(CX_F32, 3);
  cx p = cx_dict("fc1", cx_dict("weight", w, "bias", w));
  cx a, b, c;
  SHOW(CX_ETREE, cx_get(p, "fc1.wieght"));
  SHOW(CX_ETREE, cx_sum(p));
  SHOW(CX_ETREE, cx_call(CX_FN(loss), w));
  SHOW(CX_ETREE, cx_add(p, cx_tuple(w, w)));
  SHOW(CX_ETREE, (cx_unpack(cx_tuple(w, w), &a, &b, &c), a));
  SHOW(CX_ETREE, cx_tree_match(cx_dict("weight", w), p, NULL));
  end_part("CX_ETREE");
}

static void indices(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 3, 4);
  SHOW(CX_EINDEX, cx_sum(x, 2));
  SHOW(CX_EINDEX, cx_index(x, 3));
  SHOW(CX_EINDEX, cx_index(x, 0, 0, 0));
  SHOW(CX_EINDEX, cx_transpose(x, 0, 0));
  end_part("CX_EINDEX");
}

static void rules(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, CX_SCALAR);
  SHOW(CX_ENORULE, cx_call(cx_grad(CX_FN(loop)), x));
  SHOW(CX_ENORULE, cx_call(cx_jvp(CX_FN(squared)), cx_tuple(x), cx_tuple(x)));
  end_part("CX_ENORULE");
}

static void tracing(void **state) {
  (void)state;
  CX_SCOPE;
  cx x = cx_ones(CX_F32, 3);
  SHOW(CX_ETRACE, cx_call(CX_FN(step), x));
  SHOW(CX_ETRACE, cx_call(CX_FN(forever), x));
  table = cx_ones(CX_F32, 1000);
  SHOW(CX_ETRACE, cx_call(CX_FN(lookup), cx_array(int32_t, 1, 2)));
  SHOW(CX_ETRACE, cx_scalar(cx_item(cx_spec(CX_F32, CX_SCALAR)), CX_F32));
  end_part("CX_ETRACE");
}

static cx escaped;
CX_DEF(leaks, x) {
  escaped = cx_neg(x);
  return x;
}
static void lifetimes(void **state) {
  (void)state;
  CX_SCOPE;
  cx x;
  {
    CX_SCOPE;
    x = cx_ones(CX_F32, 3);
  }
  SHOW(CX_ELIFETIME, cx_exp(x));
  x = cx_ones(CX_F32, 3);
  (void)!cx_is_none(cx_call(CX_FN(leaks), x));
  SHOW(CX_ELIFETIME, cx_exp(escaped));
  cx_fn train = cx_jit(CX_FN(square), .donate = CX_ARGS(0));
  SHOW(CX_ELIFETIME, cx_call(train, cx_tuple(x, x)));
  (void)!cx_is_none(cx_call(train, x));
  SHOW(CX_ELIFETIME, cx_exp(x));
  end_part("CX_ELIFETIME");
}

static void not_a_number(void **state) {
  (void)state;
  CX_SCOPE;
  cx_checks(true);
  SHOW(CX_ENAN, cx_call(CX_FN(logarithm), cx_array(float, 1, -1)));
  cx_checks(false);
  end_part("CX_ENAN");
}

static void memory(void **state) {
  cx_ctx *mine = *state, *small = cx_open("cpu", .memory_limit = 1 << 20);
  SHOW(CX_EMEMORY, cx_ones(CX_F32, 1024, 1024));
  cx_use(mine);
  cx_close(small);
  end_part("CX_EMEMORY");
}

static void devices(void **state) {
  (void)state;
  SHOW_FALSE(CX_EDEVICE, cx_open("gpu"));
  end_part("CX_EDEVICE");
}

static void files(void **state) {
  (void)state;
  CX_SCOPE;
  SHOW(CX_EIO, cx_load("missing.safetensors"));
  SHOW(CX_EIO, cx_load("model.onnx"));
  end_part("CX_EIO");
}

static void users(void **state) {
  (void)state;
  CX_SCOPE;
  const char *act = "gleu";
  SHOW(CX_EUSER, cx_fail(CX_EUSER, "activation \"%s\" is not known", act));
  end_part("CX_EUSER");
}

int main(int argc, char **argv) {
  write = argc > 1 && strcmp(argv[1], "--write") == 0;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(shapes),    cmocka_unit_test(dtypes),
    cmocka_unit_test(trees),     cmocka_unit_test(indices),
    cmocka_unit_test(rules),     cmocka_unit_test(tracing),
    cmocka_unit_test(lifetimes), cmocka_unit_test(not_a_number),
    cmocka_unit_test(memory),    cmocka_unit_test(devices),
    cmocka_unit_test(files),     cmocka_unit_test(users),
  };
  return cmocka_run_group_tests_name("messages", tests, setup, teardown);
}
