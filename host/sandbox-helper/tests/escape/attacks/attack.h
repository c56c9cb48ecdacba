/* Reports of attacks, one line each. A line with ESCAPED fails the test. "finished" must be the
   last line, so that a program that was killed half-way does not pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attack that must fail: RESULT is the result of a system call. Prints what happened. */
#define MUST_FAIL(what, result) \
    do { \
        errno = 0; \
        if ((long)(result) == -1) \
            printf("refused %s: %s\n", what, strerror(errno)); \
        else \
            printf("ESCAPED %s\n", what); \
        fflush(stdout); \
    } while (0)

/* A condition that must hold in this program. */
#define MUST_HOLD(what, condition) \
    do { \
        printf((condition) ? "as it should be: %s\n" : "ESCAPED not so: %s\n", what); \
        fflush(stdout); \
    } while (0)

static inline int finished(void) {
    puts("finished");
    return 0;
}

/* Returns a variable that the test sets. */
static inline const char *told(const char *name) {
    const char *value = getenv(name);
    if (!value) {
        printf("ESCAPED? %s is not set\n", name);
        exit(1);
    }
    return value;
}
