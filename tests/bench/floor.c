/* The floor: an echo server without a JSON parser. No server that communicates over pipes can be
 * much faster, so the difference to the floor is the cost of a server's own work. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An answer is less than four times as long as its request. */
static char in[1 << 20], out[4 << 20];

static const char INITIALIZE[] = "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
    "\"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}";
static const char TOOLS[] = "\"tools\":[{\"name\":\"echo\",\"description\":\"Returns a text\","
    "\"inputSchema\":{\"type\":\"object\"}}]";
static const char ECHO[] = "\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]";

/* Runs a command with minimal overhead. */
static void run_true(void) {
    static posix_spawn_file_actions_t actions;
    static int ready;
    if (!ready) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        ready = 1;
    }
    char *arguments[] = {"bash", "--norc", "--noprofile", "-c", "true", 0}, *variables[] = {"PATH=/usr/bin:/bin", 0};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/bash", &actions, 0, arguments, variables) == 0) waitpid(pid, 0, 0);
}

/* Writes the answer to `line` at `to` and returns its end. Writes nothing for a notification. */
static char *answer(const char *line, char *to) {
    const char *id = strstr(line, "\"id\":"), *method = strstr(line, "\"method\":\"");
    if (!id || !method) return to;
    id += 5, method += 10;
    if (strstr(method, "\"Bash\"")) run_true();
    const char *result = *method == 'i' ? INITIALIZE : strncmp(method, "tools/list", 10) == 0 ? TOOLS : ECHO;
    to = stpcpy(to, "{\"jsonrpc\":\"2.0\",\"id\":");
    to = mempcpy(to, id, strcspn(id, ",}"));
    to = stpcpy(stpcpy(to, ",\"result\":{"), result);
    return stpcpy(to, "}}\n");
}

int main(void) {
    size_t have = 0;
    for (ssize_t got; (got = read(0, in + have, sizeof in - have)) > 0;) {
        char *line = in, *to = out, *end;
        for (have += got; (end = memchr(line, '\n', in + have - line)); line = end + 1) {
            *end = 0;
            to = answer(line, to);
        }
        have -= line - in;
        memmove(in, line, have);
        for (char *from = out; from < to;) {
            ssize_t put = write(1, from, to - from);
            if (put < 0) return 1;
            from += put;
        }
    }
    return 0;
}
