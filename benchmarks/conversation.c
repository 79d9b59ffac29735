/* The floor of a dump: a new socket, the request, and every datagram into one buffer, walking the messages only. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>

struct conversation {
    int protocol;
    const void *request;
    size_t length;
    uint64_t messages, datagrams, bytes; /* of the last one; the end is no message */
};

static uint8_t buffer[128 * 1024] __attribute__((aligned(16)));

/* Looks at a datagram; 1 at the end. */
static int walk(struct conversation *c, size_t length)
{
    size_t at = 0;
    while (at < length && length - at >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, buffer + at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > length - at)
            return -EBADMSG;
        if (header.nlmsg_type == NLMSG_DONE)
            return 1;
        if (header.nlmsg_type == NLMSG_ERROR)
            return -EPROTO;
        c->messages++;
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
    return 0;
}

static int once(struct conversation *c)
{
    int end = 0, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, c->protocol);
    if (fd < 0)
        return -errno;
    c->messages = c->datagrams = c->bytes = 0;
    if (send(fd, c->request, c->length, 0) < 0)
        end = -errno;
    while (!end) {
        ssize_t length = recv(fd, buffer, sizeof buffer, MSG_TRUNC);
        if (length < 0 || (size_t)length > sizeof buffer) {
            end = length < 0 ? -errno : -EMSGSIZE;
            break;
        }
        c->datagrams++;
        c->bytes += length;
        end = walk(c, length);
    }
    close(fd);
    return end < 0 ? end : 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Nanoseconds of this thread's CPU time, the kernel's work in it included, for each time; or a negative errno. */
double converse(struct conversation *c, long count)
{
    double start = now();
    for (long i = 0; i < count; i++) {
        int failed = once(c);
        if (failed)
            return failed;
    }
    return (now() - start) / count;
}
