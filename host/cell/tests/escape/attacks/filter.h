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
