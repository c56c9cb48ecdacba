/* Reaches files outside in other ways than by a path: `files descriptors`, `files metadata PATH`,
   `files mounts PATH`, `files devices`, `files watch PATH`. */
#include "attack.h"
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static char text[4096];

static const char *below(const char *folder, const char *name) {
    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

/* Tries to turn a descriptor without access into one with access. */
static void through_path_descriptor(const char *what, int folder, const char *name) {
    char own[64];
    int fd = openat(folder, name, O_PATH | O_NOFOLLOW);
    if (fd < 0) {
        printf("refused %s: %s\n", what, strerror(errno));
        return;
    }
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    MUST_FAIL(what, open(own, O_RDONLY));
    MUST_FAIL(what, open(own, O_WRONLY));
    MUST_FAIL(what, open(own, O_WRONLY | O_TRUNC));
    MUST_FAIL(what, truncate(own, 0));
    MUST_FAIL(what, chmod(own, 0777));
    MUST_FAIL(what, linkat(fd, "", AT_FDCWD, "taken", AT_EMPTY_PATH));
    MUST_FAIL(what, linkat(AT_FDCWD, own, AT_FDCWD, "taken", AT_SYMLINK_FOLLOW));
    MUST_FAIL(what, syscall(SYS_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH));
    close(fd);
}

static void descriptors(void) {
    int folder, root;
    struct open_how how = {.flags = O_RDWR, .resolve = RESOLVE_IN_ROOT};
    struct {
        struct file_handle head;
        char bytes[128];
    } handle = {.head.handle_bytes = sizeof handle.bytes};
    int mount;

    /* The same ways must work where they are permitted. */
    int inside = openat(AT_FDCWD, "inside", O_PATH | O_CLOEXEC);
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", inside);
    if (getenv("TIER") && strcmp(getenv("TIER"), "T2") != 0)
        MUST_HOLD("a file inside is opened by its descriptor", open(own, O_RDWR) >= 0);

    through_path_descriptor("the victim by its own descriptor", AT_FDCWD, told("VICTIM"));
    folder = open(told("OUTSIDE"), O_PATH | O_DIRECTORY);
    if (folder >= 0) {
        through_path_descriptor("the victim by its folder's descriptor", folder, "victim");
        MUST_FAIL("a file by the folder's descriptor", openat(folder, "new", O_WRONLY | O_CREAT, 0600));
        MUST_FAIL("a folder by the folder's descriptor", mkdirat(folder, "new", 0700));
        MUST_FAIL("removing by the folder's descriptor", unlinkat(folder, "victim", 0));
        MUST_FAIL("moving out by the folder's descriptor", renameat(AT_FDCWD, "inside", folder, "new"));
        MUST_FAIL("moving in by the folder's descriptor", renameat(folder, "victim", AT_FDCWD, "new"));
        MUST_FAIL("openat2 in the folder", syscall(SYS_openat2, folder, "victim", &how, sizeof how));
        if (fchdir(folder) == 0) {
            MUST_FAIL("the victim from its folder", open("victim", O_RDWR));
            MUST_FAIL("listing from the folder", open(".", O_RDONLY | O_DIRECTORY));
            MUST_HOLD("the way back", chdir(told("WORKSPACE")) == 0);
        }
    }
    root = open("/", O_PATH | O_DIRECTORY);
    MUST_FAIL("openat2 from the root", syscall(SYS_openat2, root, told("VICTIM"), &how, sizeof how));
    MUST_FAIL("O_TMPFILE outside", open(told("OUTSIDE"), O_TMPFILE | O_RDWR, 0600));
    MUST_FAIL("exchanging the workspace and the outside",
              renameat2(AT_FDCWD, told("WORKSPACE"), AT_FDCWD, told("OUTSIDE"), RENAME_EXCHANGE));
    MUST_FAIL("exchanging a file and the victim",
              renameat2(AT_FDCWD, "inside", AT_FDCWD, told("VICTIM"), RENAME_EXCHANGE));

    MUST_FAIL("a handle of the victim", name_to_handle_at(AT_FDCWD, told("VICTIM"), &handle.head, &mount, 0));
    handle.head.handle_bytes = sizeof handle.bytes;
    MUST_FAIL("a handle of a file inside", name_to_handle_at(AT_FDCWD, "inside", &handle.head, &mount, 0));
    /* Inode 2 is the root directory of ext4 and many other file systems. */
    handle.head.handle_bytes = 8;
    handle.head.handle_type = 1;
    memcpy(handle.bytes, "\2\0\0\0\0\0\0\0", 8);
    MUST_FAIL("opening by a guessed handle", open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
    MUST_FAIL("opening by a guessed handle below the workspace",
              open_by_handle_at(open(".", O_RDONLY), &handle.head, O_RDONLY));
}

static void metadata(const char *path) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    int fd = open(path, O_RDONLY), flags = 0;
    int bare = open(path, O_PATH);
    MUST_FAIL("chmod", syscall(SYS_fchmodat, AT_FDCWD, path, 0777));
    MUST_FAIL("fchmodat2", syscall(452, AT_FDCWD, path, 0777, 0));
    MUST_FAIL("fchmodat2 by descriptor", syscall(452, bare, "", 0777, AT_EMPTY_PATH));
    MUST_FAIL("chown", fchownat(AT_FDCWD, path, getuid(), getgid(), 0));
    MUST_FAIL("chown by descriptor", fchownat(bare, "", getuid(), getgid(), AT_EMPTY_PATH));
    MUST_FAIL("utimensat", utimensat(AT_FDCWD, path, times, 0));
    MUST_FAIL("setxattr", setxattr(path, "user.escape", "1", 1, 0));
    MUST_FAIL("lsetxattr", lsetxattr(path, "user.escape", "1", 1, 0));
    MUST_FAIL("setxattrat", syscall(463, AT_FDCWD, path, 0, "user.escape", NULL, 0));
    MUST_FAIL("file_setattr", syscall(469, AT_FDCWD, path, NULL, 0, 0));
    MUST_FAIL("truncate", truncate(path, 0));
    if (fd >= 0) {
        struct fsxattr more;
        MUST_FAIL("fchmod", fchmod(fd, 0777));
        MUST_FAIL("fchown", fchown(fd, getuid(), getgid()));
        MUST_FAIL("futimens", futimens(fd, times));
        MUST_FAIL("fsetxattr", fsetxattr(fd, "user.escape", "1", 1, 0));
        MUST_FAIL("ftruncate", ftruncate(fd, 0));
        MUST_FAIL("fallocate", fallocate(fd, 0, 0, 1 << 20));
        /* The nodump flag: the only one that an owner may set and that does no harm. */
        if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
            flags ^= FS_NODUMP_FL;
            MUST_FAIL("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags));
        }
        if (ioctl(fd, FS_IOC_FSGETXATTR, &more) == 0) {
            more.fsx_xflags ^= FS_XFLAG_NODUMP;
            MUST_FAIL("FS_IOC_FSSETXATTR", ioctl(fd, FS_IOC_FSSETXATTR, &more));
        }
        /* The inode generation of ext2 and its successors. */
        flags = 7;
        MUST_FAIL("FS_IOC_SETVERSION", ioctl(fd, _IOW('v', 2, long), &flags));
    }
}

static void mounts(const char *path) {
    const char *outside = told("OUTSIDE");
    MUST_FAIL("a bind mount from outside", mount(outside, "place", NULL, MS_BIND, NULL));
    MUST_FAIL("a bind mount of the root", mount("/", "place", NULL, MS_BIND | MS_REC, NULL));
    MUST_FAIL("a bind mount over the path", mount("place", path, NULL, MS_BIND, NULL));
    MUST_FAIL("memory over the path", mount("none", path, "tmpfs", 0, NULL));
    MUST_FAIL("memory inside", mount("none", "place", "tmpfs", 0, NULL));
    MUST_FAIL("a second /proc", mount("proc", "place", "proc", 0, NULL));
    MUST_FAIL("an overlay", mount("o", "place", "overlay", 0, "lowerdir=/usr:/"));
    MUST_FAIL("writable again", mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL));
    MUST_FAIL("the root writable", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    MUST_FAIL("unmounting the path", umount2(path, MNT_DETACH));
    MUST_FAIL("unmounting the workspace", umount2(told("WORKSPACE"), MNT_DETACH));
    MUST_FAIL("unmounting /proc", umount2("/proc", MNT_DETACH));
    MUST_FAIL("open_tree", syscall(SYS_open_tree, AT_FDCWD, path, 1));
    MUST_FAIL("open_tree without a copy", syscall(SYS_open_tree, AT_FDCWD, path, 0));
    MUST_FAIL("move_mount", syscall(SYS_move_mount, AT_FDCWD, path, AT_FDCWD, "place", 0));
    MUST_FAIL("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    MUST_FAIL("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
    MUST_FAIL("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, path, 0, NULL, 0));
    MUST_FAIL("open_tree_attr", syscall(467, AT_FDCWD, path, 1, NULL, 0));
    MUST_FAIL("pivot_root", syscall(SYS_pivot_root, ".", "place"));
    MUST_FAIL("chroot", chroot("."));
    MUST_FAIL("a mount namespace", unshare(CLONE_NEWNS));
    MUST_FAIL("a mount namespace of an own user", unshare(CLONE_NEWUSER | CLONE_NEWNS));
}

static void devices(void) {
    struct stat found;
    dev_t disk;
    MUST_HOLD("a pipe can be made", mknod("pipe", S_IFIFO | 0600, 0) == 0);
    if (stat(".", &found) != 0)
        return;
    disk = found.st_dev;
    MUST_FAIL("the workspace's disk", mknod("disk", S_IFBLK | 0600, disk));
    MUST_FAIL("the machine's memory", mknod("memory", S_IFCHR | 0600, makedev(1, 1)));
    MUST_FAIL("the kernel's log", mknod("log", S_IFCHR | 0600, makedev(1, 11)));
    MUST_FAIL("a disk in /tmp", mknod("/tmp/disk", S_IFBLK | 0600, disk));
    MUST_FAIL("opening a disk", open("disk", O_RDONLY));
    MUST_FAIL("opening /dev/mem", open("/dev/mem", O_RDONLY));
    MUST_FAIL("opening /dev/vda", open("/dev/vda", O_RDONLY));
    MUST_FAIL("opening /dev/sda", open("/dev/sda", O_RDONLY));
}

static void watch(const char *path) {
    int queue = inotify_init1(IN_CLOEXEC);
    if (strcmp(told("TIER"), "T2") == 0)
        MUST_FAIL("watching anything", queue);
    else
        MUST_HOLD("a folder inside can be watched", inotify_add_watch(queue, ".", IN_ALL_EVENTS) >= 0);
    MUST_FAIL("watching a folder outside", inotify_add_watch(queue, path, IN_ALL_EVENTS));
    MUST_FAIL("watching its parent", inotify_add_watch(queue, below(path, ".."), IN_ALL_EVENTS));
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "", *path = count > 2 ? arguments[2] : "";
    if (strcmp(what, "descriptors") == 0)
        descriptors();
    else if (strcmp(what, "metadata") == 0)
        metadata(path);
    else if (strcmp(what, "mounts") == 0)
        mounts(path);
    else if (strcmp(what, "devices") == 0)
        devices();
    else if (strcmp(what, "watch") == 0)
        watch(path);
    else
        return 1;
    return finished();
}
