/* What the filter does not let through, whatever the kernel would say to it. */
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

/* What the filter lets through in T1, where the helper under the same filter needs it: there the
   kernel refuses it, since a command has no capability. */
#define MUST_BE_HELPERS(what, result) \
    do { \
        if (strcmp(told("TIER"), "T1") == 0) \
            MUST_FAIL(what, result); \
        else \
            MUST_BE_UNKNOWN(what, result); \
    } while (0)
