/* Counts the system calls of a child, between two calls of getppid() that it marks the begin and the end with. */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

struct calls {
    long sends, receives, polls, others;
};

static long trace(long request, pid_t child, long address, void *data)
{
    return syscall(SYS_ptrace, request, child, address, data);
}

/* In the child. */
int calls_begin(void)
{
    if (trace(PTRACE_TRACEME, 0, 0, NULL) < 0)
        return -errno;
    return raise(SIGSTOP) ? -errno : 0;
}

static void count(struct calls *calls, unsigned long number)
{
    switch (number) {
    case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
        calls->sends++;
        break;
    case SYS_recvfrom: case SYS_recvmsg: case SYS_recvmmsg:
        calls->receives++;
        break;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        calls->polls++;
        break;
    default:
        calls->others++;
    }
}

/* In the parent: until the child has ended. Its exit status, or a negative errno. */
int calls_count(pid_t child, struct calls *calls)
{
    int status, inside = 0;
    long signal = 0;
    if (waitpid(child, &status, __WALL) < 0)
        return -errno;
    if (!WIFSTOPPED(status))
        return WEXITSTATUS(status);
    if (trace(PTRACE_SETOPTIONS, child, 0, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0)
        return -errno;
    for (;;) {
        if (trace(PTRACE_SYSCALL, child, 0, (void *)signal) < 0 || waitpid(child, &status, __WALL) < 0)
            return -errno;
        if (!WIFSTOPPED(status))
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        signal = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        if (signal)
            continue;
        struct ptrace_syscall_info info;
        if (trace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) < 0)
            return -errno;
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
            continue;
        if (info.entry.nr == SYS_getppid)
            inside = !inside;
        else if (inside)
            count(calls, info.entry.nr);
    }
}
