/* wordpiece.c - text to tokens: added tokens, normalisation, words, pieces. */
#include <stdlib.h>
#include <string.h>

#include "unicode.h"
#include "wordpiece_internal.h"

/* -- growing lists: a failed one stays failed and is seen at the end ------ */

void codes_add(codes *list, uint32_t c, int32_t at) {
  if (list->n == list->cap) {
    size_t cap = 2 * list->cap + 64;
    code *more = list->failed ? NULL : realloc(list->d, cap * sizeof *more);
    if (!more) {
      list->failed = true;
      return;
    }
    list->d = more, list->cap = cap;
  }
  list->d[list->n++] = (code){ c, at };
}

typedef struct piece {
  int32_t id, start, end;
} piece;
typedef struct pieces {
  piece *d;
  size_t n, cap;
  bool failed;
} pieces;

static void pieces_add(pieces *list, int32_t id, int32_t start, int32_t end) {
  if (list->n == list->cap) {
    size_t cap = 2 * list->cap + 32;
    piece *more = list->failed ? NULL : realloc(list->d, cap * sizeof *more);
    if (!more) {
      list->failed = true;
      return;
    }
    list->d = more, list->cap = cap;
  }
  list->d[list->n++] = (piece){ id, start, end };
}

/* -- normalisation -------------------------------------------------------- */

static void add_lower(const wordpiece *w, codes *to, uint32_t c, int32_t at) {
  uint32_t parts[UNICODE_MAX];
  int n = 1;
  if (w->lowercase)
    n = unicode_lower(c, parts);
  else
    parts[0] = c;
  for (int i = 0; i < n; i++) codes_add(to, parts[i], at);
}
static void add_stripped(const wordpiece *w, codes *to, uint32_t c,
                         int32_t at) {
  uint32_t parts[UNICODE_MAX];
  int n = unicode_decompose(c, parts);
  for (int i = 0; i < n; i++)
    if (!unicode_is_accent(parts[i])) add_lower(w, to, parts[i], at);
}
/* Cleaned, CJK characters between blanks, accents stripped, lower case. */
void codes_normalize(const wordpiece *w, const code *from, size_t n,
                     codes *to) {
  for (size_t i = 0; i < n; i++) {
    uint32_t c = from[i].c;
    int32_t at = from[i].at;
    if (w->clean) {
      if (unicode_is_removed(c)) continue;
      if (unicode_is_space(c)) c = ' ';
    }
    bool alone = w->split_cjk && unicode_is_cjk(c);
    if (alone) codes_add(to, ' ', at);
    if (w->strip_accents)
      add_stripped(w, to, c, at);
    else
      add_lower(w, to, c, at);
    if (alone) codes_add(to, ' ', at);
  }
}

/* -- words to pieces ------------------------------------------------------ */

/* Greedy longest match; a word with a rest that no piece begins is unknown. */
static void add_word(const wordpiece *w, const code *word, size_t n,
                     pieces *out) {
  enum { LONGEST = 1024 };
  char small[4 * LONGEST], *text = small;
  uint32_t small_ends[LONGEST], *ends = small_ends; /* bytes up to each code */
  size_t before = out->n, bytes = 0, place = 0;
  int32_t start = word[0].at, end = word[n - 1].at + 1;
  if (n > (size_t)w->max_word_codes) {
    pieces_add(out, w->unknown, start, end);
    return;
  }
  if (n > LONGEST) text = malloc(4 * n), ends = malloc(n * sizeof *ends);
  if (!text || !ends) {
    out->failed = true;
    goto done;
  }
  for (size_t i = 0; i < n; i++) {
    bytes += unicode_put(word[i].c, text + bytes);
    ends[i] = (uint32_t)bytes;
  }
  for (size_t at = 0, length = 0; at < bytes; at += length) {
    const vocabulary *v = &w->words;
    int32_t id = at == 0 ? vocabulary_longest(v->starts, v->n_starts, text,
                                              bytes, &length)
                         : vocabulary_longest(v->rests, v->n_rests, text + at,
                                              bytes - at, &length);
    size_t last = place;
    while (id >= 0 && last < n && ends[last] < at + length) last++;
    if (id < 0 || last == n || ends[last] != at + length) {
      out->n = before;
      pieces_add(out, w->unknown, start, end);
      goto done;
    }
    pieces_add(out, id, word[place].at, word[last].at + 1);
    place = last + 1;
  }
done:
  if (n > LONGEST) free(text), free(ends);
}
/* Blanks end words and fall away; punctuation is a word of its own. */
static void add_words(const wordpiece *w, const code *text, size_t n,
                      pieces *out) {
  size_t start = 0;
  for (size_t i = 0; i <= n; i++) {
    bool space = i < n && unicode_is_space(text[i].c);
    bool mark = i < n && !space && unicode_is_punctuation(text[i].c);
    if (i < n && !space && !mark) continue;
    if (i > start) add_word(w, text + start, i - start, out);
    if (mark) add_word(w, text + i, 1, out);
    start = i + 1;
  }
}

/* -- added tokens --------------------------------------------------------- */

static bool stands_at(const added_token *t, const code *text, size_t n,
                      size_t at) {
  if (t->n_codes == 0 || t->n_codes > n - at) return false;
  for (uint32_t i = 0; i < t->n_codes; i++)
    if (text[at + i].c != t->codes[i]) return false;
  return true;
}
/* The longest added token at a place. */
static const added_token *token_at(const wordpiece *w, bool normalized,
                                   const code *text, size_t n, size_t at) {
  const added_token *best = NULL;
  for (uint32_t i = 0; i < w->n_added; i++) {
    const added_token *t = &w->added[i];
    if (t->normalized == normalized && (!best || t->n_codes > best->n_codes) &&
        stands_at(t, text, n, at))
      best = t;
  }
  return best;
}
static bool is_alone(const added_token *t, const code *text, size_t n,
                     size_t at) {
  size_t end = at + t->n_codes;
  return !t->single_word || ((at == 0 || !unicode_is_word(text[at - 1].c)) &&
                             (end == n || !unicode_is_word(text[end].c)));
}
typedef void segment_fn(const wordpiece *w, const code *text, size_t n,
                        pieces *out);

/* Cuts the text at added tokens; `rest` handles what lies between them. */
static void split_added(const wordpiece *w, bool normalized, const code *text,
                        size_t n, segment_fn *rest, pieces *out) {
  size_t done = 0;
  for (size_t at = 0; at < n;) {
    const added_token *t = token_at(w, normalized, text, n, at);
    if (!t) {
      at++;
      continue;
    }
    size_t from = at, to = at + t->n_codes;
    at = to;
    if ((t->special && w->specials_as_text) || !is_alone(t, text, n, from))
      continue;
    while (t->lstrip && from > done && unicode_is_space(text[from - 1].c))
      from--;
    while (t->rstrip && to < n && unicode_is_space(text[to].c)) to++;
    if (from > done) rest(w, text + done, from - done, out);
    pieces_add(out, t->id, text[from].at, text[to - 1].at + 1);
    done = at = to;
  }
  if (n > done) rest(w, text + done, n - done, out);
}
static void add_segment(const wordpiece *w, const code *text, size_t n,
                        pieces *out) {
  codes normal = { 0 };
  codes_normalize(w, text, n, &normal);
  if (normal.failed)
    out->failed = true;
  else
    split_added(w, true, normal.d, normal.n, add_words, out);
  free(normal.d);
}
static bool tokenize(const wordpiece *w, const char *text, size_t bytes,
                     pieces *out) {
  codes raw = { 0 };
  size_t used;
  for (int32_t at = 0; bytes; text += used, bytes -= used, at++) {
    uint32_t c = unicode_next(text, bytes, &used);
    codes_add(&raw, c, at);
  }
  if (raw.failed)
    out->failed = true;
  else
    split_added(w, false, raw.d, raw.n, add_segment, out);
  free(raw.d);
  if (!out->failed) return true;
  cx_fail(CX_EMEMORY, "wordpiece_encode: out of memory");
  return false;
}

/* -- truncation and assembly ---------------------------------------------- */

/* How much of both texts fits `room` tokens: the longer one is cut first, to
 * halves (the second gets the odd token) where both are longer. */
static void fit_both(size_t room, size_t *a, size_t *b) {
  size_t *shorter = *a <= *b ? a : b, *longer = *a <= *b ? b : a;
  if (*a + *b <= room) return;
  size_t rest = *shorter < room ? room - *shorter : 0;
  *longer = *shorter > rest ? *shorter : rest;
  if (*shorter + *longer > room) {
    *shorter = room / 2;
    *longer = room / 2 + room % 2;
  }
}
static bool truncate(int max_length, wordpiece_truncation how, bool pair,
                     size_t *a, size_t *b) {
  size_t added = pair ? 3 : 2;
  if (max_length <= 0 || *a + *b + added <= (size_t)max_length) return true;
  if ((size_t)max_length < added) {
    cx_fail(CX_EUSER,
            "wordpiece_encode: %d tokens do not hold the %zu added ones",
            max_length, added);
    return false;
  }
  size_t room = (size_t)max_length - added, over = *a + *b - room;
  if (room == 0) return *a = *b = 0, true;
  if (how == WORDPIECE_LONGEST_FIRST) {
    if (pair)
      fit_both(room, a, b);
    else
      *a = room;
    return true;
  }
  size_t *cut = how == WORDPIECE_ONLY_FIRST ? a : b;
  if (*cut <= over) {
    cx_fail(CX_EUSER,
            "wordpiece_encode: the %s text is too short to be cut to %d "
            "tokens in all",
            cut == a ? "first" : "second", max_length);
    return false;
  }
  *cut -= over;
  return true;
}
static void put(wordpiece_encoding *e, piece p, int32_t type, bool special) {
  e->ids[e->n] = p.id, e->types[e->n] = type, e->special[e->n] = special;
  e->offsets[e->n][0] = p.start, e->offsets[e->n][1] = p.end;
  e->n++;
}
static bool assemble(const wordpiece *w, const pieces *a, size_t n_a,
                     const pieces *b, size_t n_b, bool pair,
                     wordpiece_encoding *e) {
  size_t n = n_a + n_b + 3;
  *e = (wordpiece_encoding){ .ids = malloc(n * sizeof *e->ids),
                             .types = malloc(n * sizeof *e->types),
                             .offsets = malloc(n * sizeof *e->offsets),
                             .special = malloc(n * sizeof *e->special) };
  if (!e->ids || !e->types || !e->offsets || !e->special) {
    wordpiece_encoding_free(e);
    cx_fail(CX_EMEMORY, "wordpiece_encode: out of memory");
    return false;
  }
  put(e, (piece){ w->cls, 0, 0 }, 0, true);
  for (size_t i = 0; i < n_a; i++) put(e, a->d[i], 0, false);
  put(e, (piece){ w->sep, 0, 0 }, 0, true);
  for (size_t i = 0; i < n_b; i++) put(e, b->d[i], 1, false);
  if (pair) put(e, (piece){ w->sep, 0, 0 }, 1, true);
  return true;
}
bool wordpiece_encode(const wordpiece *w, const char *a, size_t a_bytes,
                      const char *b, size_t b_bytes, int max_length,
                      wordpiece_truncation truncation,
                      wordpiece_encoding *out) {
  pieces pa = { 0 }, pb = { 0 };
  *out = (wordpiece_encoding){ 0 };
  bool ok = a_bytes <= INT32_MAX / 2 && b_bytes <= INT32_MAX / 2;
  if (!ok) cx_fail(CX_EUSER, "wordpiece_encode: a text of 1 GiB or more");
  ok = ok && tokenize(w, a, a_bytes, &pa) &&
       (!b || tokenize(w, b, b_bytes, &pb));
  size_t n_a = pa.n, n_b = pb.n;
  ok = ok && truncate(max_length, truncation, b != NULL, &n_a, &n_b) &&
       assemble(w, &pa, n_a, &pb, n_b, b != NULL, out);
  free(pa.d), free(pb.d);
  return ok;
}
void wordpiece_encoding_free(wordpiece_encoding *e) {
  free(e->ids), free(e->types), free(e->offsets), free(e->special);
  *e = (wordpiece_encoding){ 0 };
}

/* -- back to text --------------------------------------------------------- */

static bool is_special(const wordpiece *w, int32_t id) {
  for (uint32_t i = 0; i < w->n_added; i++)
    if (w->added[i].id == id) return w->added[i].special;
  return false;
}
/* Deletes the blanks that stand before marks and contracted endings. */
static void clean_up(char *text) {
  static const char *const from[] = { " .",  " ?",   " !",  " ,",
                                      " ' ", " n't", " 'm", " do not",
                                      " 's", " 've", " 're" };
  static const char *const to[] = { ".",  "?",      "!",  ",",   "'",  "n't",
                                    "'m", " don't", "'s", "'ve", "'re" };
  for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
    size_t n = strlen(from[i]), m = strlen(to[i]); /* m < n */
    char *write = text;
    for (const char *read = text; *read;) {
      if (strncmp(read, from[i], n) == 0) {
        memcpy(write, to[i], m);
        write += m, read += n;
      } else {
        *write++ = *read++;
      }
    }
    *write = 0;
  }
}
char *wordpiece_decode(const wordpiece *w, const int32_t *ids, int n,
                       bool skip_special, bool clean) {
  size_t bytes = 1, prefix = strlen(w->prefix);
  for (int i = 0; i < n; i++) {
    const char *token = wordpiece_token(w, ids[i]);
    bytes += token ? strlen(token) + 1 : 0;
  }
  char *text = malloc(bytes), *at = text;
  if (!text) {
    cx_fail(CX_EMEMORY, "wordpiece_decode: out of memory");
    return NULL;
  }
  *at = 0;
  for (int i = 0; i < n; i++) {
    const char *token = wordpiece_token(w, ids[i]);
    if (!token || (skip_special && is_special(w, ids[i]))) continue;
    bool joined = at > text && strncmp(token, w->prefix, prefix) == 0;
    char *start = at;
    if (at > text && !joined) *at++ = ' ';
    strcpy(at, joined ? token + prefix : token);
    if (clean) clean_up(start);
    at = start + strlen(start);
  }
  return text;
}
