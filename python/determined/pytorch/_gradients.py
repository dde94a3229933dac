"""The exchange of gradients between the ranks of a trial.

Each optimizer has one. Gradients are packed into buckets whose layout depends only on the parameters, not on the order
in which gradients arrive. The sums are therefore computed in the same order in every process, before and after a pause.
(``DistributedDataParallel`` changes the layout of its buckets after the first backward pass of a process; see
docs/decisions/0015.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from determined._compat import zip_strict
from determined.common import check

BUCKET_BYTES = 25 << 20


class _Bucket:
    """Parameters of one device and type, whose gradients are sent as one tensor."""

    def __init__(self, params: list[torch.nn.Parameter], extra: int, dtype: torch.dtype) -> None:
        self.params = params
        size = sum(p.numel() for p in params)
        self.flat = torch.zeros(size + extra, dtype=dtype, device=params[0].device)
        self.presence = self.flat[size:]
        self.views: list[torch.Tensor] = []
        at = 0
        for p in params:
            self.views.append(self.flat[at : at + p.numel()].view(p.shape))
            at += p.numel()
        self.work: Any = None
        self.missing: set[int] = set()
        """Of parameters whose gradient this backward pass has not brought yet."""

    def send(self, size: int) -> None:
        """Starts the sum of this bucket over all ranks."""
        grads = [p.grad for p in self.params if p.grad is not None]
        if len(grads) == len(self.params):
            torch._foreach_copy_(self.views, grads)
        else:
            for view, p in zip_strict(self.views, self.params):
                view.zero_() if p.grad is None else view.copy_(p.grad)
        self.flat.div_(size)
        self.work = dist.all_reduce(self.flat, async_op=True)

    def receive(self) -> None:
        self.work.wait()
        self.work = None


class GradientExchange:
    """Averages the gradients of one optimizer's parameters over all ranks, just before its step.

    The gradients of large models are exchanged during the backward pass: a bucket is sent when the gradients of all its
    parameters are ready, in the same order on all ranks. The rest is sent at the step, so parameters without a gradient
    (on some ranks or on all), further backward passes and late changes of the parameter list work. A parameter without
    a gradient on every rank stays without one.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, size: int, *, watch: Any, compress: bool = False) -> None:
        self._optimizer = optimizer
        self._size = size
        self._watch = watch
        self._compress = compress
        self._ids: list[int] = []
        self._buckets: list[_Bucket] = []
        self._presence: torch.Tensor | None = None
        self._hooks: list[Any] = []
        self._next = 0
        self._dirty = False
        self._armed = False
        self.done = False
        """Whether the gradients are those of all ranks already."""

    def _current(self) -> Iterator[torch.nn.Parameter]:
        seen: set[int] = set()
        for group in self._optimizer.param_groups:
            for p in group["params"]:
                if (p.requires_grad or p.grad is not None) and id(p) not in seen:
                    seen.add(id(p))
                    yield p

    def _lay_out(self) -> None:
        params = list(self._current())
        ids = [id(p) for p in params]
        if ids == self._ids:
            return
        for hook in self._hooks:
            hook.remove()
        self._ids, self._hooks, self._buckets = ids, [], []
        self._presence = None
        # The gradients of the last layers come first.
        groups: list[tuple[list[torch.nn.Parameter], torch.dtype]] = []
        filled: dict[tuple[torch.device, torch.dtype], tuple[int, int]] = {}
        for p in reversed(params):
            dtype = torch.float16 if self._compress and p.dtype is torch.float32 else p.dtype
            key = (p.device, dtype)
            at, used = filled.get(key, (-1, BUCKET_BYTES))
            size = p.numel() * p.element_size()
            if at < 0 or used + size > BUCKET_BYTES:
                groups.append(([], dtype))
                at, used = len(groups) - 1, 0
            groups[at][0].append(p)
            filled[key] = (at, used + size)
        for number, (members, dtype) in enumerate(groups):
            last = number == len(groups) - 1
            self._buckets.append(_Bucket(members, len(params) if last else 0, dtype))
        if self._buckets:
            self._presence = self._buckets[-1].presence
        self._ordered = [p for bucket in self._buckets for p in bucket.params]
        if len(self._buckets) > 1:
            for number, bucket in enumerate(self._buckets):
                for p in bucket.params:
                    if p.requires_grad:
                        hook = p.register_post_accumulate_grad_hook(self._hook(number))  # type: ignore[no-untyped-call]
                        self._hooks.append(hook)

    def _hook(self, number: int) -> Any:
        def came(p: torch.Tensor) -> None:
            if not self._armed:
                return
            if number < self._next:
                self._dirty = True
                return
            self._buckets[number].missing.discard(id(p))
            while self._next < len(self._buckets) - 1 and not self._buckets[self._next].missing:
                self._buckets[self._next].send(self._size)
                self._next += 1

        return came

    def begin_batch(self, *, update: bool) -> None:
        """Prepares a batch. Gradients are sent early only if the optimizer steps at the end of the batch."""
        if self._buckets and len(self._buckets) > 1:
            self._forget()
            self._armed = update

    def _forget(self) -> None:
        for bucket in self._buckets:
            if bucket.work is not None:
                bucket.receive()
            bucket.missing = {id(p) for p in bucket.params if p.requires_grad}
        self._next, self._dirty = 0, False

    def run(self) -> None:
        """Gives every rank the mean of all ranks' gradients."""
        self._armed = False
        early = self._next
        if self._dirty:
            early = 0
            for bucket in self._buckets:
                if bucket.work is not None:
                    bucket.receive()
        elif early == 0:
            self._lay_out()
        if not self._buckets:
            return
        self._watch.begin("the exchange of gradients")
        for bucket in self._buckets[early:]:
            for p in bucket.params:
                if p.grad is not None and p.grad.is_sparse:
                    check.fail(
                        "a sparse gradient", "a dense one", "a trial on several slots needs sparse=False in embeddings"
                    )
        for bucket in self._buckets[early:-1]:
            bucket.send(self._size)
        absent = [p.grad is None for p in self._ordered]
        assert self._presence is not None
        if any(absent):
            self._presence.copy_(torch.tensor([0.0 if gone else float(self._size) for gone in absent]))
        else:
            self._presence.fill_(float(self._size))
        self._buckets[-1].send(self._size)
        for bucket in self._buckets:
            bucket.receive()
        self._watch.end()
        self._write_back(absent)
        self._next, self._dirty = 0, False
        self.done = True

    def with_all_ranks(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        """Wraps a closure for ``optimizer.step``: each call computes the mean gradients of all ranks and returns their
        mean loss, so that an optimizer that calls it several times decides the same on every rank.
        """

        def together() -> Any:
            loss = closure()
            self.run()
            if loss is None:
                return None
            mean = torch.as_tensor(loss).detach().clone()
            self._watch.begin("the exchange of a loss")
            dist.all_reduce(mean)
            self._watch.end()
            mean /= self._size
            return mean if isinstance(loss, torch.Tensor) else mean.item()

        return together

    def _write_back(self, absent: list[bool]) -> None:
        views = [view for bucket in self._buckets for view in bucket.views]
        if not any(absent):
            torch._foreach_copy_([p.grad for p in self._ordered if p.grad is not None], views)
            return
        assert self._presence is not None
        elsewhere = self._presence.tolist()
        for p, view, gone, count in zip_strict(self._ordered, views, absent, elsewhere):
            if not gone:
                assert p.grad is not None
                p.grad.copy_(view)
            elif count > 0:
                p.grad = view.to(p.dtype, copy=True)


def equalise(models: list[torch.nn.Module], ranks: Any) -> None:
    """Copies the parameters and buffers of rank 0 to every rank.

    Raises:
        CheckFailedError: the ranks built different models.
    """
    shapes = [[(name, tuple(t.shape), str(t.dtype)) for name, t in _tensors(model)] for model in models]
    first = ranks.broadcast(shapes)
    agree = ranks.allgather(first == shapes)
    if not all(agree):
        others = [rank for rank, same in enumerate(agree) if not same]
        check.fail(
            f"models on rank {', '.join(map(str, others))} that differ from those of rank 0",
            "the same models, with the same parameters, on every rank",
        )
    tensors = [tensor.detach() for model in models for _, tensor in _tensors(model)]
    if tensors:
        spread(tensors, ranks.watch)


def _tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


def spread(tensors: list[torch.Tensor], watch: Any) -> None:
    """Overwrites tensors with those of rank 0."""
    watch.begin("the exchange of buffers")
    broadcast: Any = dist._broadcast_coalesced  # type: ignore[attr-defined]
    broadcast(dist.group.WORLD, tensors, 250 << 20, 0)
    watch.end()
