/* Accept queued packets: what Python is measured against. recv and send for each packet, or one verdict for many. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netfilter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static char buffer[1 << 17];

static int verdict(int fd, int type, uint16_t queue, uint32_t id)
{
    struct {
        struct nlmsghdr header;
        struct nfgenmsg family;
        struct nlattr attribute;
        struct nfqnl_msg_verdict_hdr verdict;
    } message = {
        { sizeof message, NFNL_SUBSYS_QUEUE << 8 | type, NLM_F_REQUEST, 0, 0 },
        { AF_UNSPEC, NFNETLINK_V0, htons(queue) },
        { sizeof(struct nlattr) + sizeof(struct nfqnl_msg_verdict_hdr), NFQA_VERDICT_HDR },
        { htonl(NF_ACCEPT), id },
    };

    return send(fd, &message, sizeof message, 0) == sizeof message ? 0 : -errno;
}

/* Accept what is there; how many packets that was, or -errno. `payloads` adds up the lengths of their payloads. */
int nfqueue_accept(int fd, unsigned int queue, unsigned int batch, unsigned long *payloads)
{
    int packets = 0;
    unsigned int waiting = 0;
    uint32_t id = 0;

    for (;;) {
        ssize_t size = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        struct nlmsghdr *message = (struct nlmsghdr *)buffer;

        if (size < 0) {
            if (errno != EAGAIN)
                return -errno;
            break;
        }
        if (message->nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET))
            return -EPROTO;
        char *at = buffer + NLMSG_HDRLEN + sizeof(struct nfgenmsg);
        char *end = buffer + size;

        while (at + sizeof(struct nlattr) <= end) {
            struct nlattr *attribute = (struct nlattr *)at;

            if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > end - at)
                return -EPROTO;
            if (attribute->nla_type == NFQA_PACKET_HDR)
                memcpy(&id, at + NLA_HDRLEN, sizeof id);
            else if (attribute->nla_type == NFQA_PAYLOAD)
                *payloads += attribute->nla_len - NLA_HDRLEN;
            at += NLA_ALIGN(attribute->nla_len);
        }
        packets++;
        if (batch <= 1) {
            int failed = verdict(fd, NFQNL_MSG_VERDICT, queue, id);

            if (failed)
                return failed;
        } else if (++waiting == batch) {
            int failed = verdict(fd, NFQNL_MSG_VERDICT_BATCH, queue, id);

            if (failed)
                return failed;
            waiting = 0;
        }
    }
    if (waiting) {
        int failed = verdict(fd, NFQNL_MSG_VERDICT_BATCH, queue, id);

        if (failed)
            return failed;
    }
    return packets;
}
