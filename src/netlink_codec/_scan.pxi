# The messages of one exchange: what belongs to it, and what ends it. Included by netlink_codec.pyx.

cdef enum:
    NLM_F_REQUEST = 0x01
    NLM_F_MULTI = 0x02
    NLM_F_ACK = 0x04
    NLM_F_DUMP_INTR = 0x10
    NLM_F_ACK_TLVS = 0x200
    NLMSG_NOOP = 1
    NLMSG_ERROR = 2
    NLMSG_DONE = 3
    NLMSG_MIN_TYPE = 16


cdef class Scan(_MessageIterator):
    """The messages of one exchange, out of the datagrams that arrive.

    To it belong `count` sequence numbers from `seq` on; messages of others are
    counted in `stale` and passed over. A subclass decides: `control(message)` is
    called with each NLMSG_ERROR and each multipart NLMSG_DONE of the exchange, when
    `done` is set, and unsets that if it was not the end, or raises; `more()` is called when a
    datagram is used up, and feeds the next one, or raises; `over()` is called when
    iterating ends. `single` says that the first
    message of data, unless it is multipart, is the end; `plain`, that the last
    number's outcome is, and need not be shown to `control` if it is success without a word. `flags` are
    the flags of all messages so far, or-ed together.

    Iterating yields the messages of data, by the rules of `iter_messages`.
    """

    def __init__(self, unsigned int seq, unsigned int count=1, *, bint single=False, bint plain=False):
        self.seq = seq
        self.count = count
        self.single = single
        self.plain = plain

    def feed(self, bytes datagram not None, bytes following=None):
        """Go on with this datagram, and with the one after it if it came too."""
        # Protects the cursor.
        with cython.critical_section(self):
            begin_datagram(self, datagram)
            self.following = following

    def take(self):
        """The next message of data; None where the datagram is used up, or the exchange over."""
        return take_message(self)

    def control(self, message):
        """An outcome: to be decided by a subclass."""
        raise NotImplementedError

    def more(self):
        """The datagram is used up: to be filled by a subclass."""
        raise NotImplementedError

    def over(self):
        """The exchange is over, and all of it was taken."""

    def claim(self):
        """True for who asks first, whose it is to see to the end; False for all others."""
        # Protects the answer: threads may be there at once.
        with cython.critical_section(self):
            first = not self.claimed
            self.claimed = True
        return first

    @property
    def used_up(self):
        """Whether there is nothing to take, and more is to come."""
        with cython.critical_section(self):
            nothing = self.position >= self.end and self.following is None and not self.done
        return nothing

    def __next__(self):
        cdef Message message
        while True:
            message = take_message(self)
            if message is not None:
                return message
            if self.done:
                self.over()
                raise StopIteration
            self.more()


cdef int begin_datagram(Scan self, bytes datagram) except -1:
    self.owner = datagram
    self.origin = <const uint8_t*>PyBytes_AS_STRING(datagram)
    self.position = 0
    self.end = <size_t>PyBytes_GET_SIZE(datagram)
    # The scratch belongs to the datagram before.
    self.first = self.second = None
    return 0


cdef Message next_of_both(Scan self):
    """The next message of this datagram, or of the one that came with it."""
    cdef Message message = next_message(self)
    if message is None and self.following is not None:
        begin_datagram(self, self.following)
        self.following = None
        message = next_message(self)
    return message


cdef inline bint succeeded(Message message) noexcept:
    """Whether it says that all is well, and nothing else."""
    return (
        message.nlmsg_len >= MESSAGE_HEADER + 4
        and load(message.wire + MESSAGE_HEADER, 4, False) == 0
        and not message.nlmsg_flags & NLM_F_ACK_TLVS
    )


cdef enum Kind:
    NOTHING
    DATA
    SUCCESS
    OUTCOME


cdef Kind judge(Scan self, Message message) noexcept:
    """What it is to the exchange, which knows at once whether this is its end."""
    cdef uint16_t kind = message.nlmsg_type
    if <uint32_t>(message.nlmsg_seq - self.seq) >= self.count:
        self.stale += 1
        return NOTHING
    self.flags |= message.nlmsg_flags
    if kind == NLMSG_ERROR or kind == NLMSG_DONE and message.nlmsg_flags & NLM_F_MULTI:
        self.done = True
        if self.plain and <uint32_t>(message.nlmsg_seq - self.seq) == self.count - 1 and succeeded(message):
            return OUTCOME if self.flags & NLM_F_DUMP_INTR else SUCCESS
        return OUTCOME
    if kind == NLMSG_NOOP:
        return NOTHING
    if self.single and not message.nlmsg_flags & NLM_F_MULTI:
        self.done = True
    return DATA


cdef Message take_message(Scan self):
    cdef Message message
    cdef Kind kind = NOTHING
    while not self.done:
        # Protects the cursor, and `done`: each message goes to one thread, and after the last nobody waits for more.
        with cython.critical_section(self):
            message = None if self.done else next_of_both(self)
            if message is not None:
                kind = judge(self, message)
        if message is None:
            return None
        if kind == DATA:
            return message
        if kind == OUTCOME:
            self.control(message)
    return None


cdef class Decoder:
    """What makes something of a message; called from C where it can be."""

    cdef object decoded(self, Message message):
        raise NotImplementedError


@cython.final
cdef class Results:
    """The results of a dump, decoded as they are asked for; leave it whenever you like, as `Replies`."""
    def __class_getitem__(cls, item):
        return cls

    def __init__(self, Scan replies not None, decode):
        self.scan = replies
        self.decode = decode
        self.decoder = decode if isinstance(decode, Decoder) else None

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message
        while True:
            message = take_message(self.scan)
            if message is None:
                if self.scan.done:
                    self.scan.over()
                    raise StopIteration
                self.scan.more()
                continue
            if self.decoder is not None:
                result = self.decoder.decoded(message)
            else:
                result = message if self.decode is None else self.decode(message)
            if result is not None:
                return result

    def close(self):
        """End the dump here. Again is harmless."""
        self.scan.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scan.close()


def marshal_series(messages, unsigned int seq, unsigned int pid, Py_ssize_t acknowledged):
    """The messages as one datagram, as `Message.sent` makes each, numbered from `seq` on.

    All are requests, and one asks for an acknowledgement: the one at that place.
    """
    cdef bytes wire = marshal_messages(messages)
    cdef uint8_t* at = <uint8_t*>PyBytes_AS_STRING(wire)
    cdef uint8_t* end = at + PyBytes_GET_SIZE(wire)
    cdef uint16_t flags
    cdef Py_ssize_t place = 0
    while at < end:
        flags = <uint16_t>load(at + 6, 2, False) | NLM_F_REQUEST
        if place == acknowledged:
            flags |= NLM_F_ACK
        write_header(
            at,
            <uint32_t>load(at, 4, False),
            <uint16_t>load(at + 4, 2, False),
            flags,
            <uint32_t>load(at + 8, 4, False) or seq + <unsigned int>place,
            <uint32_t>load(at + 12, 4, False) or pid,
        )
        at += aligned(<size_t>load(at, 4, False))
        place += 1
    return wire


def acknowledges(bytes datagram not None, unsigned int seq):
    """Whether it is nothing but the news that all is well with the request of this number."""
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(datagram)
    cdef size_t size = <size_t>PyBytes_GET_SIZE(datagram)
    return (
        size >= MESSAGE_HEADER + 4
        and load(at, 4, False) == size
        and load(at + 4, 2, False) == NLMSG_ERROR
        and not load(at + 6, 2, False) & NLM_F_ACK_TLVS
        and load(at + 8, 4, False) == seq
        and load(at + MESSAGE_HEADER, 4, False) == 0
    )


def whole_answer(bytes first not None, bytes second, unsigned int seq, bint single):
    """The answer to a request of this number, if these datagrams are all of it and as it mostly is.

    That is one message of data that is not of several, and behind it, if it is not `single`, the
    news that all is well; or that alone, for which it is None. NotImplemented is for
    everything else.
    """
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(first)
    cdef size_t size = <size_t>PyBytes_GET_SIZE(first)
    if not single and second is None and acknowledges(first, seq):
        return None
    if single != (second is None) or second is not None and not acknowledges(second, seq):
        return NotImplemented
    if (
        size < MESSAGE_HEADER
        or load(at, 4, False) < MESSAGE_HEADER
        or load(at, 4, False) > size
        or aligned(<size_t>load(at, 4, False)) < size
        or load(at + 4, 2, False) < NLMSG_MIN_TYPE
        or load(at + 6, 2, False) & (NLM_F_MULTI | NLM_F_DUMP_INTR)
        or load(at + 8, 4, False) != seq
    ):
        return NotImplemented
    return next(iter_messages(first))
