"""What is done while backward runs.  Reductions: hooks of parameters tell a thread of
gradients, and that one tells the engine, which may wait for other ranks.  In one process
the engine looks at gradients."""
import queue
import sys
import threading
import weakref

import torch

from . import czr


class Hooks:
    """Of all parameters, until `close`.  `check` raises what a status says.  A
    gradient that was told of stays as it is until the step is over."""

    def __init__(self, gradients, check):
        self.gradients, self.check = gradients, weakref.WeakMethod(check)  # the thread keeps us
        self.is_on, self.failure, self.told = True, None, {}
        self.queue = queue.Queue()
        self.handles = [one.param.register_post_accumulate_grad_hook(self._hook_of(one))
                        for one in gradients.bound]
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _hook_of(self, one):
        def tell(_):
            if not self.is_on:
                return
            if one in self.told:
                raise RuntimeError(f"{one.name}: a second backward() before step(): all but "
                                   "the last one of a step run under optimizer.no_sync()")
            part = one.take_grad()
            self.told[one] = one.param.grad, one.param.grad._version
            self.queue.put((one, part))
        return tell

    def _work(self):
        while (item := self.queue.get()) is not None:
            try:
                if self.failure is None:
                    self._send(*item)
            except Exception as error:  # the step raises it
                self.failure = error
            finally:
                del item  # a gradient
                self.queue.task_done()
        self.queue.task_done()

    @torch.no_grad()
    def _send(self, one, part):
        self.check()(self.gradients.bind_moved(one, part))
        for number in one.numbers:
            self.check()(czr.lib.czr_grad_ready(self.gradients.engine, number, None))

    def wait(self):
        """Until all that was told of is under way; raises what failed."""
        self.queue.join()
        if self.failure is not None:
            raise self.failure
        for one, (grad, version) in self.told.items():
            if one.param.grad is not grad or grad._version != version:
                raise RuntimeError(f"{one.name}: its gradient was changed since backward(), "
                                   "which has sent it: give overlap=False, or have the "
                                   "schedule clip")

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.queue.put(None)
        if not sys.is_finalizing():
            self.thread.join()


class Checks:
    """Lets the engine look at a large gradient as soon as it is made, while a cache has
    it.  The hook of a small one would cost more than it saves."""
    LEAST = 1 << 17  # elements

    def __init__(self, gradients):
        self.gradients, self.seen = gradients, {}
        self.handles = [one.param.register_post_accumulate_grad_hook(self._hook_of(one))
                        for one in gradients.bound
                        if one.is_plain and one.param.numel() >= self.LEAST]

    def _hook_of(self, one):
        def look(param):
            try:
                grad = one.take_grad()
            except RuntimeError:  # step() says it
                return
            self.seen[one] = param.grad, param.grad._version
            czr.check(self.gradients.bind_moved(one, grad))
            for number in one.numbers:
                czr.check(czr.lib.czr_grad_check(self.gradients.engine, number))
        return look

    def changed(self):
        """Whose gradients are others than those that were seen."""
        return {one for one, (grad, version) in self.seen.items()
                if one.param.grad is not grad or grad._version != version}

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.seen.clear()
