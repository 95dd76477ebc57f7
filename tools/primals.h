/* primals.h - the functions that derived records are made of. */
#ifndef TOOLS_PRIMALS_H
#define TOOLS_PRIMALS_H

#include <jansson.h>

#include "calx/calx.h"
#include "jaxpr_text.h"

/* A program that was met in a file, for the derived kinds of its name. */
typedef struct primal {
  char *name, *kind, *text;
  json_t *jaxpr, *in_axes; /* in_axes: NULL, or the record's */
} primal;
typedef struct primals {
  primal *list;
  int n, cap;
} primals;

/* The record's program as text, to be freed: recorded as such or translated.
 * NULL with w->missing or w->error, or where it has none. */
char *primals_text(const json_t *record, jaxpr_writer *w);
/* Keeps the program of a record of kind primal, and of a jvp or vjp whose
 * name has no other; false without memory. */
bool primals_add(primals *p, const json_t *record);
void primals_forget(primals *p);
void primals_free(primals *p);

/* What a derived record is to be made of. */
typedef struct origin {
  cx_fn f;       /* flat */
  cx specs;      /* a tuple, like its inputs */
  char *text;    /* its program, to be freed */
  char kind[64]; /* the steps to take */
  bool told;     /* by a derivative, which has lost a custom rule's body */
} origin;
/* The primal program of the name, of the record's file or of `given`, whose
 * in_axes the record gets if it has none; else the record's "function"; else
 * what a jvp, a vjp or the record itself tells (undo.h). False with *why, to be
 * left out. */
bool primals_origin(const primals *p, const primals *given, json_t *record,
                    origin *out, char *why, size_t room);

#endif
