/* printed.c - programs in the form in which they are printed. */
#include "support/printed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ir/text.h"

const char *const printed_samples[] = {
  "program @main(%0: bool[], %1: f32[]) {\n"
  "  check[message=\"x is \\\"odd\\\"\"] %0\n"
  "  debug_print[format=\"x is {}\"] %1\n"
  "  return %1\n"
  "}\n",
  "program @main() {\n"
  "  return\n"
  "}\n",

  "program @main(%0: f32[3], %1: key[]) {\n"
  "  return %1, -0.0:f32, %0, %0, true:bool, 0x00000000000000ff:key\n"
  "}\n",

  "program @body(%0: f32[3], %1: f32[3]) {\n"
  "  %2: f32[3] = mul %0, 2.0:f32\n"
  "  %3: f32[3] = add %2, %1\n"
  "  return %3, %3\n"
  "}\n"
  "program @main(%0: f32[3], %1: f32[5,3]) {\n"
  "  %2: f32[3], %3: f32[5,3] = scan[body=@body, length=5, reverse=false, "
  "unroll=1,\n"
  "    n_consts=0, n_carry=1] %0, %1\n"
  "  return %3\n"
  "}\n",

  "program @main(%0: f32[5,3], %1: i32[2,1]) {\n"
  "  %2: f32[2,3] = gather[offset=(1), collapsed=(0), start_map=(0),\n"
  "    operand_batch=(), index_batch=(), sizes=(1,3), mode=fill, fill=nan,\n"
  "    sorted=false, unique=true] %0, %1\n"
  "  %3: f32[2,3] = integer_pow[y=-3] %2\n"
  "  %4: f32[2,3] = round[away=true] %3\n"
  "  %5: f32[2,3] = name[name=\"a \\\"b\\\" \\\\ \\x0a\"] %4\n"
  "  %6: bf16[2,3] = convert[type=bf16] %5\n"
  "  return %6\n"
  "}\n",

  "program @main(%0: f32[3]) {\n"
  "  %1: f32[1], %2: f32[2] = split[sizes=(1,2), axis=0] %0\n"
  "  %3: i32[4] = iota[type=i32, shape=(4), axis=0]\n"
  "  return %2, %3\n"
  "}\n",

  "program @f(%0: f32[3]) {\n"
  "  %1: f32[3] = sin %0\n"
  "  return %1\n"
  "}\n"
  "program @f.1(%0: f32[3]) {\n"
  "  %1: f32[3] = checkpoint[body=@f, policy=\"dots\", names=(\"a\",\"\"),\n"
  "    differentiated=false] %0\n"
  "  return %1\n"
  "}\n"
  "program @main(%0: i32[], %1: f32[3]) {\n"
  "  %2: f32[3] = cond[branches=(@f,@f.1)] %0, %1\n"
  "  %3: f32[3] = composite[name=\"relu\", body=@f, fwd=none, bwd=none, "
  "number=1e-05]\n"
  "    %2\n"
  "  return %3\n"
  "}\n",
};
const int n_printed_samples =
    (int)(sizeof printed_samples / sizeof *printed_samples);

const cxi_program *parse_printed(const char *text) {
  cxi_error error = { 0 };
  const cxi_program *p = cxi_program_parse(text, strlen(text), &error);
  if (!p) print_message("%s\n", error.text);
  assert_non_null(p);
  return p;
}

char *print_program(const cxi_program *p) {
  char *text = cxi_program_print(p, (cxi_text_options){ 0 });
  assert_non_null(text);
  return text;
}

/* Whatever is a program is valid, and its text is it. */
void check_printed(const cxi_program *p) {
  cxi_error error = { 0 };
  if (!cxi_program_check(p, &error)) fail_msg("%s", error.text);
  char *text = print_program(p);
  const cxi_program *q = cxi_program_parse(text, strlen(text), &error);
  if (!q) fail_msg("%s\n%s", error.text, text);
  assert_true(cxi_hash_equal(p->hash, q->hash));
  char *again = print_program(q);
  assert_string_equal(text, again);
  cxi_free(text);
  cxi_free(again);
  cxi_program_release(q);
}
