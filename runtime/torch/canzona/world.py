"""Ranks are those of torch.distributed: messages go by isend and irecv of its gloo."""
import ctypes as ct
import datetime
import itertools
import zlib

import torch
import torch.distributed as dist

from . import czr


def _bytes(address, n):
    return torch.frombuffer((ct.c_uint8 * n).from_address(address), dtype=torch.uint8)


class World:
    """A czr_world over `ranks` of torch.distributed, in that order; of this process alone
    where there is one.  Collective over them; groups of our own, one a channel and one
    more, meet nothing that the trainer sends."""

    def __init__(self, ranks, deadline=600):
        self.ranks, self.pointer, self.failure = ranks, ct.c_void_p(), None
        self.groups, transport = [], None
        if len(ranks) > 1:
            # Older torch gives some ranks' groups the names of closed ones.
            is_some = len(ranks) < dist.get_world_size()
            self.groups = [dist.new_group(sorted(ranks), backend="gloo",
                                          timeout=datetime.timedelta(seconds=deadline),
                                          use_local_synchronization=is_some)
                           for _ in range(czr.CHANNELS + 1)]
            self.transport = transport = czr.Transport(
                ct.sizeof(czr.Transport), None, ranks.index(dist.get_rank()), len(ranks),
                czr.EXCHANGE(self._exchange))
        czr.check(czr.lib.czr_world_open(transport and ct.byref(transport),
                                         ct.byref(self.pointer)))

    def _exchange(self, _, channel, n, messages, deadline_ms, why):
        group, peer = self.groups[channel], None
        wait = datetime.timedelta(milliseconds=deadline_ms)
        try:
            works = []
            for m in messages[:n]:
                peer = m.peer
                if m.receive_bytes:
                    works.append((peer, dist.irecv(_bytes(m.receive, m.receive_bytes),
                                                   self.ranks[peer], group)))
            for m in messages[:n]:
                peer = m.peer
                if m.send_bytes:
                    works.append((peer, dist.isend(_bytes(m.send, m.send_bytes),
                                                   self.ranks[peer], group)))
            for peer, work in works:
                work.wait(wait)
            return czr.OK
        except Exception as failure:  # none may pass through C
            self.failure = self.failure or failure
            is_late = "imed out" in str(failure)
            words = f"rank {peer} {'did not come' if is_late else 'has ended'}".encode()
            ct.memmove(why, words + b"\0", len(words) + 1)
            return czr.ERR_TIMEOUT if is_late else czr.ERR_ENDED

    def all_reduce_bytes(self, tensor):
        """Adds up bytes of all ranks; where but one has other than 0, it is a copy."""
        if self.groups:
            dist.all_reduce(tensor.view(-1).view(torch.uint8), group=self.groups[-1])

    def agree(self, failure, text=""):
        """Raises `failure`, or that of another rank, or says in which line ranks have
        other texts.  All ranks call it: none waits for one that has given up."""
        if self.groups and self._differs(-1 if failure else zlib.crc32(text.encode())):
            self._tell(failure, text)
        if failure:
            raise failure

    def is_any(self, value):
        """Whether it is true on some rank."""
        found = torch.tensor([bool(value)], dtype=torch.uint8)
        if self.groups:
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self.groups[-1])
        return bool(found)

    def _differs(self, number):
        own = torch.tensor([number])
        of_all = [torch.empty_like(own) for _ in self.ranks]
        try:
            dist.all_gather(of_all, own, self.groups[-1])
        except RuntimeError:
            return False  # a rank has ended: the engine says which
        return any(value != own for value in of_all)

    def _tell(self, failure, text):
        of_all = [None] * len(self.ranks)
        why = failure and f"{type(failure).__name__}: {failure}"
        dist.all_gather_object(of_all, (why, text), self.groups[-1])
        if failure:
            raise failure
        for rank, (theirs, _) in zip(sorted(self.ranks), of_all):
            if theirs:
                raise RuntimeError(f"rank {rank} has failed: {theirs}")
        first, lines = min(self.ranks), of_all[0][1].splitlines()
        for rank, (_, other) in zip(sorted(self.ranks), of_all):
            for a, b in itertools.zip_longest(lines, other.splitlines(), fillvalue="nothing"):
                if a != b:
                    raise ValueError(f"ranks have other rules or parameters: {b.strip()!r} on "
                                     f"rank {rank}, where rank {first} has {a.strip()!r}")

    def close(self):
        if self.pointer:
            czr.lib.czr_world_close(self.pointer)
            self.pointer = ct.c_void_p()
            for group in self.groups:
                dist.destroy_process_group(group)
