/* A process outside of the sandbox, with a secret in its memory and its environment, and an open
   file. Prints the address of the secret, then answers each line while its memory is unchanged. */
#include "attack.h"
#include <fcntl.h>

static char secret[] = "the-secret-of-the-host";

int main(int count, char **arguments) {
    char line[64];
    if (count != 2 || open(arguments[1], O_RDWR) < 0)
        return 1;
    printf("%p\n", (void *)secret);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        puts(strcmp(secret, "the-secret-of-the-host") == 0 ? "unharmed" : "changed");
        fflush(stdout);
    }
    return 0;
}
