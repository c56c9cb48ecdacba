//! Umasks with which the supervisor creates files for a command.

use super::absent::with_absent_names;
use crate::bed::for_each_tier;

/// Threads share the umask of their process, other processes do not, and a program keeps that of the one before it.
const UMASKS: &str = r"
import os, stat, subprocess, sys, threading
count = 0
def made(expected, what):
    global count
    count += 1
    name = 'made-%d' % count
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    found = stat.S_IMODE(os.stat(name).st_mode)
    if found != 0o666 & ~expected: print('WRONG', what, oct(found), oct(expected))
def in_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
made(0o022, 'the usual one')
for mask in [0o077, 0o002, 0o022, 0o027] * 5:
    in_thread(lambda: os.umask(mask))
    made(mask, 'set by another thread')
    in_thread(lambda: made(mask, 'in another thread'))
    child = os.fork()
    if child == 0:
        made(mask, 'of a child')
        os.umask(0o055)
        made(0o055, 'set by a child')
        os._exit(0)
    os.waitpid(child, 0)
    count += 2
    made(mask, 'after a child set its own')
    subprocess.run(['/bin/sh', '-c', 'echo > by-sh; umask 000; echo > by-sh-2'])
    for name, expected in [('by-sh', mask), ('by-sh-2', 0)]:
        found = stat.S_IMODE(os.stat(name).st_mode)
        if found != 0o666 & ~expected: print('WRONG', name, oct(found))
        os.unlink(name)
    made(mask, 'after another program set its own')
# More threads than the supervisor remembers, each with a file before and after.
os.umask(0o007)
threads = [threading.Thread(target=made, args=(0o007, 'of many')) for _ in range(100)]
for thread in threads: thread.start(); thread.join()
print('counted', count)
";

#[test]
fn files_get_the_umask_of_the_process_that_makes_them() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        bed.put("umasks.py", UMASKS);
        let finished = bed.run("python3 umasks.py");
        assert!(finished.text.contains("counted") && !finished.text.contains("WRONG"), "{finished:?}");
    });
}

/// The first thread creates files; then another one, with a umask of its own, starts a program, which gets the ID of the
/// first one.
const REPLACED: &str = r"
import ctypes, os, stat, sys, threading
CLONE_FS = 0x200
def made(name, expected):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    found = stat.S_IMODE(os.stat(name).st_mode)
    if found != 0o666 & ~expected: print('WRONG', name, oct(found))
if len(sys.argv) > 1:
    print('same' if int(sys.argv[1]) == os.getpid() else 'WRONG process')
    made('after', 0o077)
    sys.exit()
set_one, may_start = threading.Event(), threading.Event()
def start():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_FS): print('WRONG errno', ctypes.get_errno())
    os.umask(0o077)
    made('by-other', 0o077)
    set_one.set()
    may_start.wait()
    os.execv(sys.executable, [sys.executable, sys.argv[0], str(os.getpid())])
threading.Thread(target=start).start()
set_one.wait()
for number in range(3): made('by-first-%d' % number, 0o022)
may_start.set()
threading.Event().wait()
";

#[test]
fn a_program_keeps_the_umask_of_the_thread_that_starts_it() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        bed.put("replaced.py", REPLACED);
        let finished = bed.run("python3 replaced.py");
        assert!(finished.text.contains("same") && !finished.text.contains("WRONG"), "{finished:?}");
    });
}
