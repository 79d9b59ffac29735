/* The floors: what C does for the same work, with nothing but libc, all of it inlined. */
#include "floor.h"

#include <linux/netlink.h>

/* Messages ------------------------------------------------------------- */

static size_t messages_size(const struct work *w)
{
    size_t total = 0;
    for (size_t i = 0; i < w->items; i++)
        total += ALIGN4(sizeof(struct nlmsghdr) + w->size);
    return total;
}

static void write_messages(const struct work *w, uint8_t *to)
{
    size_t length = sizeof(struct nlmsghdr) + w->size;
    for (size_t i = 0; i < w->items; i++) {
        struct nlmsghdr header = {(uint32_t)length, 1, NLM_F_REQUEST, 0, 0};
        memcpy(to, &header, sizeof header);
        memcpy(to + sizeof header, w->payloads[i], w->size);
        if (length & 3)
            memset(to + length, 0, ALIGN4(length) - length);
        to += ALIGN4(length);
    }
}

static __attribute__((noinline)) void *once_messages_fresh(struct work *w)
{
    w->result = messages_size(w);
    uint8_t *block = malloc(w->result);
    write_messages(w, block);
    return block;
}
FLOOR(messages_fresh)

static __attribute__((noinline)) void *once_messages_reused(struct work *w)
{
    w->result = messages_size(w);
    write_messages(w, w->out);
    return NULL;
}
FLOOR(messages_reused)

static __attribute__((noinline)) void *once_walk_messages(struct work *w)
{
    size_t at = 0;
    uint64_t sum = 0;
    while (w->length - at >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, w->wire + at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > w->length - at)
            break;
        sum += header.nlmsg_len + header.nlmsg_type;
        at += ALIGN4(header.nlmsg_len);
        if (at > w->length)
            break;
    }
    w->result = sum;
    return NULL;
}
FLOOR(walk_messages)

/* Attributes ----------------------------------------------------------- */

static uint8_t *put(uint8_t *to, uint16_t type, uint16_t size, const void *payload)
{
    struct nlattr header = {(uint16_t)(sizeof header + size), type};
    memcpy(to, &header, sizeof header);
    memcpy(to + sizeof header, payload, size);
    if (size & 3)
        memset(to + sizeof header + size, 0, ALIGN4(size) - size);
    return to + sizeof header + ALIGN4(size);
}

static __attribute__((noinline)) void *once_encode_attributes(struct work *w)
{
    size_t total = 0;
    for (size_t i = 0; i < w->items; i++)
        total += sizeof(struct nlattr) + ALIGN4(w->size);
    uint8_t *block = malloc(total), *to = block;
    for (size_t i = 0; i < w->items; i++)
        to = put(to, i, w->size, w->payloads[i]);
    w->result = total;
    return block;
}
FLOOR(encode_attributes)

/* One header with its three checks; 0 at the end or at the first bad one. */
static inline int next(const uint8_t *wire, size_t length, size_t *at, struct nlattr *header)
{
    if (*at > length || length - *at < sizeof *header)
        return 0;
    memcpy(header, wire + *at, sizeof *header);
    return header->nla_len >= sizeof *header && header->nla_len <= length - *at;
}

static uint64_t walk(const uint8_t *wire, size_t length)
{
    struct nlattr header;
    uint64_t sum = 0;
    for (size_t at = 0; next(wire, length, &at, &header); at += ALIGN4(header.nla_len))
        sum += header.nla_len + (header.nla_type & NLA_TYPE_MASK);
    return sum;
}

static __attribute__((noinline)) void *once_walk_attributes(struct work *w)
{
    w->result = walk(w->wire, w->length);
    return NULL;
}
FLOOR(walk_attributes)

/* Every payload in memory of its own, and an array of them that grows by doubling. */
struct decoded {
    uint16_t type, size;
    void *data;
};

static __attribute__((noinline)) void *once_decode_attributes(struct work *w)
{
    struct nlattr header;
    struct decoded *list = NULL;
    size_t used = 0, room = 0;
    uint64_t sum = 0;
    for (size_t at = 0; next(w->wire, w->length, &at, &header); at += ALIGN4(header.nla_len)) {
        if (used == room) {
            room = room ? room * 2 : 8;
            list = realloc(list, room * sizeof *list);
        }
        size_t size = header.nla_len - sizeof header;
        void *data = malloc(size);
        memcpy(data, w->wire + at + sizeof header, size);
        list[used++] = (struct decoded){header.nla_type & NLA_TYPE_MASK, (uint16_t)size, data};
    }
    for (size_t i = 0; i < used; i++) {
        sum += list[i].type + list[i].size + sizeof header;
        free(list[i].data);
    }
    free(list);
    w->result = sum;
    return NULL;
}
FLOOR(decode_attributes)

static __attribute__((noinline)) void *once_find(struct work *w)
{
    struct nlattr header;
    w->result = 0;
    for (size_t at = 0; next(w->wire, w->length, &at, &header); at += ALIGN4(header.nla_len)) {
        if ((header.nla_type & NLA_TYPE_MASK) == w->header) {
            w->result = header.nla_len;
            break;
        }
    }
    return NULL;
}
FLOOR(find)

static __attribute__((noinline)) void *once_decode_u32(struct work *w)
{
    struct nlattr header;
    uint64_t sum = 0;
    for (size_t at = 0; next(w->wire, w->length, &at, &header); at += ALIGN4(header.nla_len)) {
        uint32_t value;
        if (header.nla_len != sizeof header + sizeof value)
            break;
        memcpy(&value, w->wire + at + sizeof header, sizeof value);
        sum += value;
    }
    w->result = sum;
    return NULL;
}
FLOOR(decode_u32)

/* Into a block that grows by doubling. */
static __attribute__((noinline)) void *once_encode_u32(struct work *w)
{
    size_t used = 0, room = 0;
    uint8_t *block = NULL;
    for (size_t i = 0; i < w->items; i++) {
        if (room - used < 8) {
            room = room ? room * 2 : 64;
            block = realloc(block, room);
        }
        put(block + used, i, 4, w->payloads[i]);
        used += 8;
    }
    w->result = used;
    return block;
}
FLOOR(encode_u32)

/* Dumps: messages with the attributes of each --------------------------- */

static __attribute__((noinline)) void *once_walk_dump(struct work *w)
{
    size_t at = 0, skip = sizeof(struct nlmsghdr) + w->header;
    uint64_t sum = 0;
    while (at <= w->length && w->length - at >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, w->wire + at, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > w->length - at)
            break;
        if (header.nlmsg_type != NLMSG_DONE && header.nlmsg_len >= skip)
            sum += walk(w->wire + at + skip, header.nlmsg_len - skip);
        at += ALIGN4(header.nlmsg_len);
    }
    w->result = sum;
    return NULL;
}
FLOOR(walk_dump)
