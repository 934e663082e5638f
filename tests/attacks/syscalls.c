/* Makes system calls that no bot may make, says on stderr how each went, then answers every request with "up". */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report(const char *name, long result) {
    fprintf(stderr, "%s %s\n", name, result == -1 ? (errno == EPERM ? "EPERM" : errno == ENOSYS ? "ENOSYS" : strerror(errno)) : "DONE");
}
#define TRY(name, ...) do { errno = 0; report(name, syscall(__VA_ARGS__)); } while (0)

struct clone_arguments { unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; };

int main(void) {
    char page[4096] = {0}, line[65536];
    struct clone_arguments space = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD}, child = {.exit_signal = SIGCHLD};
    setvbuf(stdout, NULL, _IOLBF, 0);
    TRY("io_uring_setup", 425, 8, page);
    TRY("io_uring_enter", 426, 0, 0, 0, 0, 0);
    TRY("keyctl", SYS_keyctl, 0, -3, 1);
    TRY("add_key", SYS_add_key, "user", "x", "y", 1, -3);
    TRY("request_key", SYS_request_key, "user", "x", 0, -3);
    TRY("userfaultfd", SYS_userfaultfd, 1);
    TRY("process_vm_readv", SYS_process_vm_readv, 1, page, 0, page, 0, 0);
    TRY("process_vm_writev", SYS_process_vm_writev, 1, page, 0, page, 0, 0);
    TRY("unshare user", SYS_unshare, CLONE_NEWUSER);
    TRY("unshare net", SYS_unshare, CLONE_NEWNET);
    TRY("setns", SYS_setns, 0, 0);
    TRY("clone user", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    TRY("clone", SYS_clone, SIGCHLD, 0, 0, 0, 0);
    TRY("clone vm without thread", SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    TRY("clone3 user", 435, &space, sizeof space);
    TRY("clone3", 435, &child, sizeof child);
    TRY("bpf", SYS_bpf, 0, page, 72);
    TRY("perf_event_open", SYS_perf_event_open, page, 0, -1, -1, 0);
    TRY("ptrace attach", SYS_ptrace, 16, 1, 0, 0);
    TRY("ptrace traceme", SYS_ptrace, 0, 0, 0, 0);
    TRY("mount", SYS_mount, "none", "/", "tmpfs", 0, 0);
    TRY("umount", SYS_umount2, "/bot", 2);
    TRY("pivot_root", SYS_pivot_root, "/", "/");
    TRY("chroot", SYS_chroot, "/bot");
    TRY("fsopen", 430, "tmpfs", 0);
    TRY("open_tree", 428, -100, "/", 1);
    TRY("move_mount", 429, -1, "", -1, "", 0);
    TRY("memfd_create", SYS_memfd_create, "x", 0);
    TRY("memfd_secret", 447, 0);
    TRY("shmget", SYS_shmget, 0, 4096, 01600);
    TRY("msgget", SYS_msgget, 0, 01600);
    TRY("semget", SYS_semget, 0, 1, 01600);
    TRY("mq_open", SYS_mq_open, "x", 0102, 0600, 0);
    TRY("pidfd_getfd", 438, 0, 0, 0);
    TRY("kcmp", SYS_kcmp, 1, 1, 0, 0, 0);
    TRY("name_to_handle_at", SYS_name_to_handle_at, -100, "/", page, page, 0);
    TRY("open_by_handle_at", SYS_open_by_handle_at, -1, page, 0);
    TRY("prlimit of the first process", SYS_prlimit64, 1, 7, page, 0);
    TRY("setpriority", SYS_setpriority, 0, 1, 19);
    TRY("sched_setscheduler", SYS_sched_setscheduler, 1, 5, page);
    TRY("sched_setaffinity", SYS_sched_setaffinity, 0, 8, page);
    TRY("ioprio_set", SYS_ioprio_set, 1, 1, 3 << 13);
    TRY("reboot", SYS_reboot, 0, 0, 0, 0);
    TRY("syslog", SYS_syslog, 3, page, 100);
    TRY("init_module", SYS_init_module, page, 1, "");
    TRY("kexec_load", SYS_kexec_load, 0, 0, 0, 0);
    TRY("quotactl", SYS_quotactl, 0, 0, 0, 0);
    TRY("socket inet", SYS_socket, 2, 1, 0);
    TRY("socket inet6", SYS_socket, 10, 2, 0);
    TRY("socket netlink", SYS_socket, 16, 3, 0);
    TRY("socket packet", SYS_socket, 17, 3, 0);
    TRY("socket vsock", SYS_socket, 40, 1, 0);
    TRY("socketpair tipc", SYS_socketpair, 30, 1, 0, page);
    TRY("TIOCSTI", SYS_ioctl, 0, TIOCSTI, "x");
    TRY("TIOCSTI with high bits", SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x");
    TRY("TIOCLINUX", SYS_ioctl, 0, TIOCLINUX, "\003");
#ifdef __x86_64__
    TRY("fork", SYS_fork);
    TRY("vfork", SYS_vfork);
    TRY("iopl", SYS_iopl, 3);
    TRY("ioperm", SYS_ioperm, 0x70, 1, 1);
    TRY("getpid of x32", 0x40000000 | 39);
    TRY("fork of x32", 0x40000000 | 57);
#endif
    while (fgets(line, sizeof line, stdin) != NULL)
        if (strchr(line, '\n') != NULL)
            puts("{\"move\": \"up\"}");
    return 0;
}
