/* Calls that the filter denies, whatever the kernel would answer. */
#define MUST_BE_UNKNOWN(what, result) \
    do { \
        errno = 0; \
        long answer = (long)(result); \
        if (answer == -1 && errno == ENOSYS) \
            printf("unknown %s\n", what); \
        else \
            printf("ESCAPED %s: %ld, %s\n", what, answer, strerror(errno)); \
        fflush(stdout); \
    } while (0)

/* Calls that the filter allows in T1, because the helper needs them under the same filter. The
   kernel denies them, since a command has no capabilities. */
#define MUST_BE_HELPERS(what, result) \
    do { \
        if (strcmp(told("TIER"), "T1") == 0) \
            MUST_FAIL(what, result); \
        else \
            MUST_BE_UNKNOWN(what, result); \
    } while (0)
