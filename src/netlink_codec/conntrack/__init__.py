"""Connection tracking: the flows that the kernel knows, what expects more of them, what it counts; see the modules.

from netlink_codec import conntrack as ct

with nl.Conn(nl.NETLINK_NETFILTER) as conn:
    for flow in conn.dump(ct.flows()):
        print(flow.orig.src, flow.orig.dst, flow.orig.dport, flow.state)
"""

from .enums import CTA as CTA
from .enums import CTA_FILTER_F as CTA_FILTER_F
from .enums import DCCP_CONNTRACK as DCCP_CONNTRACK
from .enums import IPPROTO as IPPROTO
from .enums import IPS as IPS
from .enums import SCTP_CONNTRACK as SCTP_CONNTRACK
from .enums import TCP_CONNTRACK as TCP_CONNTRACK
from .events import watch as watch
from .events import watch_expectations as watch_expectations
from .expect import CTA_EXPECT as CTA_EXPECT
from .expect import NF_CT_EXPECT as NF_CT_EXPECT
from .expect import Expectation as Expectation
from .expect import ExpectNat as ExpectNat
from .expects import create_expectation as create_expectation
from .expects import delete_expectation as delete_expectation
from .expects import expectation as expectation
from .expects import expectations as expectations
from .expects import flush_expectations as flush_expectations
from .expects import get_expectation as get_expectation
from .flow import Addresses as Addresses
from .flow import Counters as Counters
from .flow import DccpInfo as DccpInfo
from .flow import Filter as Filter
from .flow import Flow as Flow
from .flow import Help as Help
from .flow import Nat as Nat
from .flow import NatPorts as NatPorts
from .flow import Protocol as Protocol
from .flow import ProtoInfo as ProtoInfo
from .flow import SctpInfo as SctpInfo
from .flow import SecCtx as SecCtx
from .flow import SeqAdj as SeqAdj
from .flow import SynProxy as SynProxy
from .flow import TcpFlags as TcpFlags
from .flow import TcpInfo as TcpInfo
from .flow import Timestamp as Timestamp
from .flow import Tuple as Tuple
from .flows import create as create
from .flows import delete as delete
from .flows import dying as dying
from .flows import flow as flow
from .flows import flows as flows
from .flows import flush as flush
from .flows import get as get
from .flows import update as update
from .stats import CpuStats as CpuStats
from .stats import ExpectStats as ExpectStats
from .stats import Stats as Stats
from .stats import cpu_stats as cpu_stats
from .stats import expectation_stats as expectation_stats
from .stats import stats as stats
from .tuples import answering as answering
from .tuples import direction as direction
