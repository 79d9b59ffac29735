"""What `ip -j -d -s link` prints of a link, out of our record: the same words, computed another way."""

import json
import re
import shutil
import subprocess

import pytest

from iproute import ENVIRONMENT

DERIVED_FLAGS = {"NO-CARRIER", "M-DOWN"}
NAMES = {
    "bcqueuelen": "bc_queue_len",
    "fastleave": "fast_leave",
    "flood": "unicast_flood",
    "hairpin": "mode",
    "mcast_to_unicast": "mcast_to_ucast",
    "proxy_arp": "proxyarp",
    "proxy_arp_wifi": "proxyarp_wifi",
    "root_block": "protect",
    "usedbcqueuelen": "bc_queue_len_used",
}
"""What `ip` calls otherwise than the kernel does, of what a kind adds."""
TICKS = {"forward_delay", "hello_time", "max_age", "ageing_time"}
HEX = {"id", "no", "group_fwd_mask"}
TEXTS = {"group_fwd_mask_str"}


def shown():
    """Name -> what `ip` shows of each link in this thread's namespace."""
    if shutil.which("ip") is None:
        pytest.skip("iproute2 is not installed")
    command = ["ip", "-j", "-d", "-s", "link"]
    printed = subprocess.run(command, capture_output=True, check=True, timeout=60, env=ENVIRONMENT).stdout
    return {link["ifname"]: link for link in json.loads(printed)}


def differences(link, shown, names):
    """Where the record and what `ip` shows differ, and how many things were compared; `names` are those of indexes."""
    told = link.to_dict()
    ours = {
        "ifindex": link.index,
        "ifname": link.name,
        "flags": {name for name in told["flags"] if isinstance(name, str)} - {"RUNNING"},
        "link_type": link.type.word,
        "group": {0: "default"}.get(link.group, str(link.group)),
        "ifalias": link.alias,
        "altnames": list(link.altnames),
        "master": names.get(link.master),
        "link": names.get(link.link),
        "link_index": link.link,
        "inet6_addr_gen_mode": None if link.inet6 is None else link.inet6.addr_gen_mode.word,
        "linkinfo": None,
        "stats64": None,
    }
    for name in ("operstate", "linkmode", "address", "broadcast", "qdisc", "mtu", "txqlen", "promiscuity", "allmulti",
                 "min_mtu", "max_mtu", "num_tx_queues", "num_rx_queues", "gso_max_size", "gso_max_segs", "tso_max_size",
                 "tso_max_segs", "gro_max_size", "link_netnsid"):  # fmt: skip
        ours[name] = told.get(name)
    theirs = dict(shown, flags=set(shown["flags"]) - DERIVED_FLAGS)
    found = [(name, ours[name], theirs[name]) for name in ours.keys() & theirs.keys() - {"linkinfo", "stats64"}]
    info = shown.get("linkinfo", {})
    found += [("kind", link.kind, info.get("info_kind"))]
    if "info_slave_kind" in info:
        found += [("slave_kind", link.info.slave_kind, info["info_slave_kind"])]
        found += list(_added(link.info.slave_data, info["info_slave_data"], names))
    if "info_data" in info:
        found += list(_added(link.info.data, info["info_data"], names))
    if link.stats64 is not None and not link.up:
        for way, counters in shown["stats64"].items():
            for name, value in counters.items():
                field = name if name in ("multicast", "collisions") else f"{way}_{name}"
                found.append((field, getattr(link.stats64, field, None), value))
    return [entry for entry in found if entry[1] != entry[2]], len(found)


def _added(data, shown, names):
    """What a kind adds."""
    told = data.to_dict()
    for name, value in shown.items():
        if name in TEXTS:
            continue
        if name in ("no_linklocal_learn", "mcast_vlan_snooping"):
            bit = {"no_linklocal_learn": "NO_LL_LEARN", "mcast_vlan_snooping": "MCAST_VLAN_SNOOPING"}[name]
            yield name, int(bit in told["multi_boolopt"]["optval"]), value
            continue
        ours = told.get(NAMES.get(name, name))
        if name in TICKS or name.endswith("_intvl"):
            ours = round(ours * 100)
        elif name in ("bridge_id", "root_id"):
            # `ip` leaves out zeros in front.
            ours, value = (
                [int(part, 16) for part in re.split("[.:]", text)] for text in (str(getattr(data, name)), value)
            )
        elif name == "link":
            ours = names[ours]
        elif name in HEX and isinstance(value, str):
            value = int(value, 16)
        elif isinstance(value, bool):
            ours = bool(ours)
        yield name, ours, value
