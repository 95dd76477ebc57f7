/* peer.c - what numpy_peer.py calls: a context, and arrays through DLPack. */
#include <stdio.h>

#include "calx.h"

CX_API bool peer_open(void);
CX_API struct DLManagedTensorVersioned *
peer_twice(struct DLManagedTensorVersioned *tensor);
CX_API const char *peer_error(void);
CX_API void peer_close(void);

static cx_ctx *ctx;

bool peer_open(void) {
  ctx = cx_open("cpu", .threads = 1);
  return ctx != NULL;
}

/* x + x of the tensor, which is taken; NULL on error. */
struct DLManagedTensorVersioned *
peer_twice(struct DLManagedTensorVersioned *tensor) {
  CX_SCOPE;
  cx x = cx_from_dlpack(tensor);
  return cx_to_dlpack(cx_type(x) == CX_BOOL ? cx_or(x, x) : cx_add(x, x));
}

const char *peer_error(void) {
  static char text[1024];
  const char *message = "";
  cx_error(&message);
  snprintf(text, sizeof text, "%s", message);
  return text;
}

void peer_close(void) {
  cx_close(ctx);
}
