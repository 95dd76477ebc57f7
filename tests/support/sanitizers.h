/* sanitizers.h - whether this is built with one that has locks of its own. */
#ifndef TEST_SANITIZERS_H
#define TEST_SANITIZERS_H

#ifndef __has_feature
#define __has_feature(x) 0 /* of Clang */
#endif

/* Their frames are several times as large. A child that was forked beside
 * other threads may wait for a lock of theirs for good. */
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer) || \
    defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 1 };
#endif

#endif
