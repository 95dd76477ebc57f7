/* unicode.c - character classes of BERT's tokenizer. */
#include "unicode.h"

#include <utf8proc.h>

typedef struct range {
  uint32_t first, last;
} range;

/* Format characters that are not removed. */
static const range kept_controls[] = {
  { 0x890, 0x891 },
  { 0x8E2, 0x8E2 },
  { 0x110CD, 0x110CD },
  { 0x13430, 0x1343F },
};

/* Nonspacing marks that are not stripped. */
static const range kept_accents[] = {
  { 0x7FD, 0x7FD },     { 0x898, 0x89F },     { 0x8CA, 0x8E1 },
  { 0x9FE, 0x9FE },     { 0xAFA, 0xAFF },     { 0xB55, 0xB55 },
  { 0xC04, 0xC04 },     { 0xC3C, 0xC3C },     { 0xD00, 0xD00 },
  { 0xD3B, 0xD3C },     { 0xD81, 0xD81 },     { 0xEBA, 0xEBA },
  { 0xECE, 0xECE },     { 0x180F, 0x180F },   { 0x1885, 0x1886 },
  { 0x1ABF, 0x1ACE },   { 0x1DF6, 0x1DFB },   { 0xA82C, 0xA82C },
  { 0xA8C5, 0xA8C5 },   { 0xA8FF, 0xA8FF },   { 0xA9BD, 0xA9BD },
  { 0x10D24, 0x10D27 }, { 0x10EAB, 0x10EAC }, { 0x10EFD, 0x10EFF },
  { 0x10F46, 0x10F50 }, { 0x10F82, 0x10F85 }, { 0x11070, 0x11070 },
  { 0x11073, 0x11074 }, { 0x110C2, 0x110C2 }, { 0x111C9, 0x111C9 },
  { 0x111CF, 0x111CF }, { 0x1123E, 0x1123E }, { 0x11241, 0x11241 },
  { 0x1133B, 0x1133B }, { 0x11438, 0x1143F }, { 0x11442, 0x11444 },
  { 0x11446, 0x11446 }, { 0x1145E, 0x1145E }, { 0x1182F, 0x11837 },
  { 0x11839, 0x1183A }, { 0x1193B, 0x1193C }, { 0x1193E, 0x1193E },
  { 0x11943, 0x11943 }, { 0x119D4, 0x119D7 }, { 0x119DA, 0x119DB },
  { 0x119E0, 0x119E0 }, { 0x11A01, 0x11A0A }, { 0x11A33, 0x11A38 },
  { 0x11A3B, 0x11A3E }, { 0x11A47, 0x11A47 }, { 0x11A51, 0x11A56 },
  { 0x11A59, 0x11A5B }, { 0x11A8A, 0x11A96 }, { 0x11A98, 0x11A99 },
  { 0x11C30, 0x11C36 }, { 0x11C38, 0x11C3D }, { 0x11C3F, 0x11C3F },
  { 0x11C92, 0x11CA7 }, { 0x11CAA, 0x11CB0 }, { 0x11CB2, 0x11CB3 },
  { 0x11CB5, 0x11CB6 }, { 0x11D31, 0x11D36 }, { 0x11D3A, 0x11D3A },
  { 0x11D3C, 0x11D3D }, { 0x11D3F, 0x11D45 }, { 0x11D47, 0x11D47 },
  { 0x11D90, 0x11D91 }, { 0x11D95, 0x11D95 }, { 0x11D97, 0x11D97 },
  { 0x11EF3, 0x11EF4 }, { 0x11F00, 0x11F01 }, { 0x11F36, 0x11F3A },
  { 0x11F40, 0x11F40 }, { 0x11F42, 0x11F42 }, { 0x13440, 0x13440 },
  { 0x13447, 0x13455 }, { 0x16F4F, 0x16F4F }, { 0x16FE4, 0x16FE4 },
  { 0x1CF00, 0x1CF2D }, { 0x1CF30, 0x1CF46 }, { 0x1E000, 0x1E006 },
  { 0x1E008, 0x1E018 }, { 0x1E01B, 0x1E021 }, { 0x1E023, 0x1E024 },
  { 0x1E026, 0x1E02A }, { 0x1E08F, 0x1E08F }, { 0x1E130, 0x1E136 },
  { 0x1E2AE, 0x1E2AE }, { 0x1E2EC, 0x1E2EF }, { 0x1E4EC, 0x1E4EF },
  { 0x1E944, 0x1E94A },
};

/* Punctuation that does not split a word. */
static const range no_punctuation[] = {
  { 0x61D, 0x61D },     { 0x9FD, 0x9FD },     { 0xA76, 0xA76 },
  { 0xC77, 0xC77 },     { 0xC84, 0xC84 },     { 0x1B7D, 0x1B7E },
  { 0x2E43, 0x2E4F },   { 0x2E52, 0x2E5D },   { 0x10EAD, 0x10EAD },
  { 0x10F55, 0x10F59 }, { 0x10F86, 0x10F89 }, { 0x1144B, 0x1144F },
  { 0x1145A, 0x1145B }, { 0x1145D, 0x1145D }, { 0x11660, 0x1166C },
  { 0x116B9, 0x116B9 }, { 0x1183B, 0x1183B }, { 0x11944, 0x11946 },
  { 0x119E2, 0x119E2 }, { 0x11A3F, 0x11A46 }, { 0x11A9A, 0x11A9C },
  { 0x11A9E, 0x11AA2 }, { 0x11B00, 0x11B09 }, { 0x11C41, 0x11C45 },
  { 0x11C70, 0x11C71 }, { 0x11EF7, 0x11EF8 }, { 0x11F43, 0x11F4F },
  { 0x11FFF, 0x11FFF }, { 0x12FF1, 0x12FF2 }, { 0x16E97, 0x16E9A },
  { 0x16FE2, 0x16FE2 }, { 0x1E95E, 0x1E95F },
};

/* Characters that split although they are no punctuation now. */
static const range also_punctuation[] = {
  { 0x166D, 0x166D },
  { 0x111C9, 0x111C9 },
};

/* Capitals whose small letters are younger than utf8proc's tables: c + shift. */
static const struct {
  uint32_t first, last;
  int32_t shift;
} lower_cases[] = {
  { 0x1C89, 0x1C89, 1 },      { 0xA7CB, 0xA7CB, 0x264 - 0xA7CB },
  { 0xA7CC, 0xA7CC, 1 },      { 0xA7CE, 0xA7CE, 1 },
  { 0xA7D2, 0xA7D2, 1 },      { 0xA7D4, 0xA7D4, 1 },
  { 0xA7DA, 0xA7DA, 1 },      { 0xA7DC, 0xA7DC, 0x19B - 0xA7DC },
  { 0x10D50, 0x10D65, 0x20 }, { 0x16EA0, 0x16EB8, 0x1B },
};

static bool in_ranges(const range *ranges, size_t n, uint32_t c) {
  size_t lo = 0, hi = n;
  while (lo < hi) {
    size_t middle = (lo + hi) / 2;
    if (c > ranges[middle].last)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < n && c >= ranges[lo].first;
}
static bool is_kept_control(uint32_t c) {
  return in_ranges(kept_controls, sizeof kept_controls / sizeof(range), c);
}
static bool is_kept_accent(uint32_t c) {
  return in_ranges(kept_accents, sizeof kept_accents / sizeof(range), c);
}

uint32_t unicode_next(const char *text, size_t length, size_t *out_bytes) {
  utf8proc_int32_t c;
  size_t room = length < 4 ? length : 4;
  utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text,
                                        (utf8proc_ssize_t)room, &c);
  *out_bytes = n > 0 ? (size_t)n : 1;
  return n > 0 ? (uint32_t)c : 0xFFFD;
}
size_t unicode_put(uint32_t c, char *out) {
  return (size_t)utf8proc_encode_char((utf8proc_int32_t)c,
                                      (utf8proc_uint8_t *)out);
}

static utf8proc_category_t category(uint32_t c) {
  return utf8proc_category((utf8proc_int32_t)c);
}
bool unicode_is_space(uint32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0x2028 ||
         c == 0x2029 || category(c) == UTF8PROC_CATEGORY_ZS;
}
bool unicode_is_removed(uint32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c == 0 || c == 0xFFFD) return true;
  utf8proc_category_t k = category(c);
  if (k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CO) return true;
  return k == UTF8PROC_CATEGORY_CF && !is_kept_control(c);
}
/* The gap before 0x2B920 is the dialect's. */
bool unicode_is_cjk(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}
bool unicode_is_punctuation(uint32_t c) {
  if (c < 128)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) ||
           (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  utf8proc_category_t k = category(c);
  if (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO)
    return !in_ranges(no_punctuation, sizeof no_punctuation / sizeof(range), c);
  return in_ranges(also_punctuation, sizeof also_punctuation / sizeof(range),
                   c);
}
bool unicode_is_word(uint32_t c) {
  utf8proc_category_t k = category(c);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NO) ||
         k == UTF8PROC_CATEGORY_PC;
}
bool unicode_is_accent(uint32_t c) {
  if (c == 0x1734) return true; /* a spacing mark since Unicode 14 */
  return category(c) == UTF8PROC_CATEGORY_MN && !is_kept_accent(c);
}

int unicode_decompose(uint32_t c, uint32_t *out) {
  utf8proc_int32_t parts[UNICODE_MAX];
  int last = 0;
  utf8proc_ssize_t n = 0;
  if (c != 0x11938) /* decomposes since Unicode 13 */
    n = utf8proc_decompose_char((utf8proc_int32_t)c, parts, UNICODE_MAX,
                                UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last);
  if (n < 1 || n > UNICODE_MAX) return *out = c, 1;
  for (int i = 0; i < n; i++) out[i] = (uint32_t)parts[i];
  return (int)n;
}
int unicode_lower(uint32_t c, uint32_t *out) {
  if (c == 0x130) return out[0] = 'i', out[1] = 0x307, 2;
  for (size_t i = 0; i < sizeof lower_cases / sizeof *lower_cases; i++)
    if (c >= lower_cases[i].first && c <= lower_cases[i].last)
      return *out = (uint32_t)((int32_t)c + lower_cases[i].shift), 1;
  *out = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
  return 1;
}
