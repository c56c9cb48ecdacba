/* Races for the mode and the times of a file: `attributes races OWN TARGET` swaps the two files
   while the supervisor decides about calls for OWN. The test checks what happened to TARGET. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Minimum duration of each race, and its maximum while no call has reached the own file yet, as on
   a busy machine. */
#define TIME_NS 200000000L
#define MOST_NS 10000000000L

static const char *own, *target;
static char path[8192];
static int number = -1, own_fd, target_fd;
static volatile int over;
static void (*volatile swap)(int);

/* Swaps the target of a link. */
static void swap_link(int turn) {
    unlink("race-next");
    if (symlink(turn ? target : own, "race-next") == 0)
        rename("race-next", "race");
}

/* Swaps a name of the own file for a link to the other one. */
static void swap_name(int turn) {
    unlink("race-next");
    if ((turn ? symlink(target, "race-next") : link(own, "race-next")) == 0)
        rename("race-next", "race");
}

/* Swaps a directory in the path. */
static void swap_folder(int turn) {
    (void)turn;
    syscall(SYS_renameat2, AT_FDCWD, "race-folder", AT_FDCWD, "race-other", 2);
}

/* Swaps the path in memory. */
static void swap_memory(int turn) {
    const char *from = turn ? target : own;
    for (size_t at = 0; at == 0 || from[at - 1]; at++)
        ((volatile char *)path)[at] = from[at];
}

/* Swaps the file of a descriptor. */
static void swap_number(int turn) {
    dup2(turn ? target_fd : own_fd, number);
}

static void *swaps(void *unused) {
    (void)unused;
    for (int turn = 0; !over; turn = !turn)
        swap(turn);
    return NULL;
}

static long changes(const char *name, int fd) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    long done = 0;
    if (name) {
        done += syscall(SYS_fchmodat, AT_FDCWD, name, 0777) == 0;
        done += utimensat(AT_FDCWD, name, times, 0) == 0;
        done += utimensat(AT_FDCWD, name, NULL, 0) == 0;
    } else {
        done += fchmod(fd, 0777) == 0;
        done += futimens(fd, times) == 0;
        done += syscall(452, fd, "", 0777, AT_EMPTY_PATH) == 0;
    }
    return done;
}

static void race(const char *what, void (*how)(int), const char *name) {
    struct timespec began, now;
    pthread_t thread;
    long done = 0, tried = 0, passed;
    swap = how;
    over = 0;
    how(0);
    if (pthread_create(&thread, NULL, swaps, NULL) != 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        done += changes(name, number);
        tried += 3;
        clock_gettime(CLOCK_MONOTONIC, &now);
        passed = (now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec;
    } while (passed < TIME_NS || (done == 0 && passed < MOST_NS));
    over = 1;
    pthread_join(thread, NULL);
    printf("%s: %ld of %ld\n", what, done, tried);
    MUST_HOLD("some of the calls were about the own file", done > 0);
}

int main(int count, char **words) {
    if (count != 4)
        return 1;
    own = words[2];
    target = words[3];
    race("a link", swap_link, "race");
    unlink("race");
    race("a name", swap_name, "race");
    unlink("race");
    race("memory", swap_memory, path);

    char inside[4096], *name = strrchr(words[3], '/');
    name = name ? name + 1 : words[3];
    snprintf(inside, sizeof inside, "race-folder/%s", name);
    mkdir("race-folder", 0755);
    close(open(inside, O_WRONLY | O_CREAT, 0644));
    char *folder = strdup(target);
    *(strrchr(folder, '/') ? strrchr(folder, '/') : strcpy(folder, ".") + 1) = 0;
    if (symlink(folder, "race-other") == 0)
        race("a folder", swap_folder, inside);
    unlink("race-other");
    unlink("race-folder");

    own_fd = open(own, O_RDONLY);
    target_fd = open(target, O_RDONLY);
    if (target_fd < 0)
        target_fd = open(target, O_PATH);
    number = dup(own_fd);
    if (target_fd >= 0)
        race("a descriptor", swap_number, NULL);
    return finished();
}
