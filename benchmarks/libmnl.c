/* Attributes with libmnl, as a C program writes and reads them, each list or payload in memory of its own. */
#include "floor.h"

#include <libmnl/libmnl.h>

static __attribute__((noinline)) void *once_encode_attributes(struct work *w)
{
    size_t total = MNL_NLMSG_HDRLEN;
    for (size_t i = 0; i < w->items; i++)
        total += MNL_ATTR_HDRLEN + MNL_ALIGN(w->size);
    void *block = malloc(total);
    struct nlmsghdr *message = mnl_nlmsg_put_header(block);
    for (size_t i = 0; i < w->items; i++)
        mnl_attr_put(message, i, w->size, w->payloads[i]);
    w->result = message->nlmsg_len;
    return block;
}
FLOOR(encode_attributes)

struct decoded {
    uint16_t type, size;
    void *data;
};

static __attribute__((noinline)) void *once_decode_attributes(struct work *w)
{
    const struct nlattr *attr; /* the macro's own name for it */
    struct decoded *list = NULL;
    size_t used = 0, room = 0;
    uint64_t sum = 0;
    const void *wire = w->wire;
    mnl_attr_for_each_payload(wire, w->length) {
        if (used == room) {
            room = room ? room * 2 : 8;
            list = realloc(list, room * sizeof *list);
        }
        uint16_t size = mnl_attr_get_payload_len(attr);
        void *data = malloc(size);
        memcpy(data, mnl_attr_get_payload(attr), size);
        list[used++] = (struct decoded){mnl_attr_get_type(attr), size, data};
    }
    for (size_t i = 0; i < used; i++) {
        sum += list[i].type + list[i].size + MNL_ATTR_HDRLEN;
        free(list[i].data);
    }
    free(list);
    w->result = sum;
    return NULL;
}
FLOOR(decode_attributes)
