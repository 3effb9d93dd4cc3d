"""Stage `model`: the layers of message passing on a GPU, with fused Triton kernels.

Per layer and arity, one kernel gathers the arguments of a tile of atoms, applies the network of their relation and
writes the messages to the segments of their targets; one kernel reduces the segments. The backward pass has one kernel
per arity for the gradients with respect to the arguments, and one for those of the weights. The latter are summed in a
table with a row per piece of work, to each entry of which one program adds per layer: the same input gives the same
bits. All atoms of a tile are of one relation. Hidden layers before activation are kept for the backward pass.

The arities do not wait for each other, and the next layer does not wait for the gradients of the weights: each of these
has a branch of its own (`branches.py`), since the batch of one run does not fill a large GPU.

A product in float32 is made of three TF32 products (`tf32x3`) and as exact as float32, unless the specification asks
for less. Networks with relations of more than four arguments use the matrix products of the base class.
"""

# ruff: noqa: N803, N806 (kernels name their sizes as the formulas do)
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, import-not-found, import-untyped"

from __future__ import annotations

import importlib.util
from collections import deque
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from saltus.model.branches import Branch
from saltus.model.layout import TILE, Layout
from saltus.model.message_passing import MessagePassing, Saved

if TYPE_CHECKING:
    from saltus.model.rgnn import RelationalNetwork

PRECISIONS = {"float32": "tf32x3", "tf32": "tf32", "bf16": "bf16"}
"""How the kernels multiply, by the precision of the specification."""

MAX_ARITY = 4

NODES = 16
"""Nodes that the update kernels process at a time."""

SEGMENT_ROWS = 64
"""Messages that the segment kernels read at a time."""

MODES = {"smooth-max": 0, "max": 1, "sum": 2, "mean": 3}


def is_available() -> bool:
    """Whether Triton is installed."""
    return importlib.util.find_spec("triton") is not None


def is_fused(network: RelationalNetwork) -> bool:
    """Whether the fused kernels can run the network on a GPU, in float32."""
    sizes = network.spec.embedding in (16, 32, 64) and max(network.arities, default=1) <= MAX_ARITY
    return sizes and network.spec.has_fast_pass and is_available()


if is_available():
    import triton
    import triton.language as tl

    @triton.jit
    def _dot(a, b, P: tl.constexpr):
        """Matrix product in the given precision, summed in float32."""
        # One return: Triton would compile what follows another, with a precision that it does not know.
        if P == "bf16":  # noqa: SIM108
            product = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
        else:
            product = tl.dot(a, b, input_precision=P)
        return product

    @triton.jit
    def _add(place, value):
        """Adds to memory that no other program of the launch adds to, so the order of sums is fixed. Unlike a load and
        a store, it does not wait for the old value."""
        tl.atomic_add(place, value, sem="relaxed")

    @triton.jit
    def _mish(x):
        e = tl.exp(tl.minimum(x, 20.0))
        n = e * (e + 2.0)
        return tl.where(x > 20.0, x, x * (n / (n + 2.0)))

    @triton.jit
    def _mish_slope(x):
        e = tl.exp(tl.minimum(x, 20.0))
        n = e * (e + 2.0)
        t = n / (n + 2.0)
        return tl.where(x > 20.0, 1.0, t + x * (1.0 - t * t) * (e / (1.0 + e)))

    @triton.jit
    def _rows_of(x, index, rows, ok, d, j, A: tl.constexpr, D: tl.constexpr):
        nodes = tl.load(index + rows * A + j, mask=ok, other=0)
        return tl.load(x + nodes[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)

    @triton.jit
    def _block(w, relation, p, q, d, A: tl.constexpr, D: tl.constexpr):
        """Block (p, q) of a relation's matrix, [D, D]."""
        K: tl.constexpr = A * D
        return tl.load(w + relation * K * K + (p * D + d[:, None]) * K + q * D + d[None, :])

    @triton.jit
    def messages_kernel(
        x, index, position, tiles, w1, b1, w2, b2, out, hidden,
        KEEP: tl.constexpr, A: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, P: tl.constexpr,
    ):  # fmt: skip
        """Messages of one tile of atoms; with KEEP, the hidden layer before activation is written too."""
        tile = tl.program_id(0)
        relation = tl.load(tiles + tile * 3)
        rows = tl.load(tiles + tile * 3 + 1) + tl.arange(0, BM)
        ok = rows < tl.load(tiles + tile * 3 + 2)
        d = tl.arange(0, D)
        K: tl.constexpr = A * D
        a0 = _rows_of(x, index, rows, ok, d, 0, A, D)
        a1 = _rows_of(x, index, rows, ok, d, 1 % A, A, D)
        a2 = _rows_of(x, index, rows, ok, d, 2 % A, A, D)
        a3 = _rows_of(x, index, rows, ok, d, 3 % A, A, D)
        y0 = tl.zeros([BM, D], tl.float32)
        y1 = tl.zeros([BM, D], tl.float32)
        y2 = tl.zeros([BM, D], tl.float32)
        y3 = tl.zeros([BM, D], tl.float32)
        for i in tl.static_range(A):
            inner = _dot(a0, _block(w1, relation, 0, i, d, A, D), P)
            if A > 1:
                inner += _dot(a1, _block(w1, relation, 1, i, d, A, D), P)
            if A > 2:
                inner += _dot(a2, _block(w1, relation, 2, i, d, A, D), P)
            if A > 3:
                inner += _dot(a3, _block(w1, relation, 3, i, d, A, D), P)
            inner += tl.load(b1 + relation * K + i * D + d)[None, :]
            if KEEP:
                tl.store(hidden + rows[:, None] * K + i * D + d[None, :], inner, mask=ok[:, None])
            h = _mish(inner)
            y0 += _dot(h, _block(w2, relation, i, 0, d, A, D), P)
            if A > 1:
                y1 += _dot(h, _block(w2, relation, i, 1, d, A, D), P)
            if A > 2:
                y2 += _dot(h, _block(w2, relation, i, 2, d, A, D), P)
            if A > 3:
                y3 += _dot(h, _block(w2, relation, i, 3, d, A, D), P)
        for o in tl.static_range(A):
            y = y0
            if o == 1:
                y = y1
            if o == 2:
                y = y2
            if o == 3:
                y = y3
            residual = a0
            if o == 1:
                residual = a1
            if o == 2:
                residual = a2
            if o == 3:
                residual = a3
            y += residual + tl.load(b2 + relation * K + o * D + d)[None, :]
            place = tl.load(position + rows * A + o, mask=ok, other=0)
            tl.store(out + place[:, None] * D + d[None, :], y, mask=ok[:, None])

    @triton.jit
    def aggregate_kernel(messages, offset, out, ties, sharpness, MODE: tl.constexpr, D: tl.constexpr, BS: tl.constexpr):
        """Aggregate of the messages to one node; for the maximum, also the number of messages that attain it."""
        node = tl.program_id(0)
        low = tl.load(offset + node)
        high = tl.load(offset + node + 1)
        d = tl.arange(0, D)
        s = tl.zeros([D], tl.float32)
        m = tl.full([D], float("-inf"), tl.float32)
        for start in range(low, high, BS):
            r = start + tl.arange(0, BS)
            inside = (r < high)[:, None]
            if MODE >= 2:
                s += tl.sum(tl.load(messages + r[:, None] * D + d[None, :], mask=inside, other=0.0), axis=0)
            else:
                y = tl.load(messages + r[:, None] * D + d[None, :], mask=inside, other=float("-inf"))
                top = tl.maximum(m, tl.max(y, axis=0))
                if MODE == 0:
                    s = s * tl.exp(sharpness * (m - top)) + tl.sum(tl.exp(sharpness * (y - top[None, :])), axis=0)
                else:
                    s = tl.where(m == top, s, 0.0) + tl.sum(tl.where(y == top[None, :], 1.0, 0.0), axis=0)
                m = top
        some = high > low
        if MODE == 0:
            result = tl.where(some, m + tl.log(tl.where(some, s, 1.0)) / sharpness, 0.0)
        elif MODE == 1:
            result = tl.where(some, m, 0.0)
            tl.store(ties + node * D + d, s)
        elif MODE == 2:
            result = s
        else:
            result = s / tl.maximum(high - low, 1).to(tl.float32)
        tl.store(out + node * D + d, result)

    @triton.jit
    def _change(
        messages, joined, ties, offset, d_joined, index, position, rows, ok, d, o, sharpness,
        MODE: tl.constexpr, A: tl.constexpr, D: tl.constexpr,
    ):  # fmt: skip
        """Gradient with respect to the messages to argument o of the atoms of a tile."""
        node = tl.load(index + rows * A + o, mask=ok, other=0)
        at = node[:, None] * D + d[None, :]
        g = tl.load(d_joined + at, mask=ok[:, None], other=0.0)
        if MODE <= 1:
            place = tl.load(position + rows * A + o, mask=ok, other=0)
            y = tl.load(messages + place[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
            top = tl.load(joined + at, mask=ok[:, None], other=0.0)
            if MODE == 0:
                g = g * tl.exp(sharpness * (y - top))
            else:
                g = tl.where(y == top, g / tl.maximum(tl.load(ties + at, mask=ok[:, None], other=1.0), 1.0), 0.0)
        if MODE == 3:
            degree = tl.load(offset + node + 1, mask=ok, other=1) - tl.load(offset + node, mask=ok, other=0)
            g = g / tl.maximum(degree, 1).to(tl.float32)[:, None]
        return tl.where(ok[:, None], g, 0.0)

    @triton.jit
    def backward_kernel(
        messages, joined, ties, offset, d_joined, index, position, tiles, w1, w2, hidden,
        d_slots, d_inner, change, sharpness,
        MODE: tl.constexpr, A: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, P: tl.constexpr,
    ):  # fmt: skip
        """Gradients with respect to the arguments of one tile of atoms; also writes what `weights_kernel` needs."""
        tile = tl.program_id(0)
        relation = tl.load(tiles + tile * 3)
        rows = tl.load(tiles + tile * 3 + 1) + tl.arange(0, BM)
        ok = rows < tl.load(tiles + tile * 3 + 2)
        d = tl.arange(0, D)
        K: tl.constexpr = A * D
        x0 = tl.zeros([BM, D], tl.float32)
        x1 = tl.zeros([BM, D], tl.float32)
        x2 = tl.zeros([BM, D], tl.float32)
        x3 = tl.zeros([BM, D], tl.float32)
        for o in tl.static_range(A):
            g = _change(
                messages, joined, ties, offset, d_joined, index, position, rows, ok, d, o, sharpness, MODE, A, D
            )
            tl.store(change + rows[:, None] * K + o * D + d[None, :], g, mask=ok[:, None])
            if o == 0:
                x0 += g
            if o == 1:
                x1 += g
            if o == 2:
                x2 += g
            if o == 3:
                x3 += g
        g0 = x0
        g1 = x1
        g2 = x2
        g3 = x3
        for i in tl.static_range(A):
            inner = tl.load(hidden + rows[:, None] * K + i * D + d[None, :], mask=ok[:, None], other=0.0)
            dh = _dot(g0, tl.trans(_block(w2, relation, i, 0, d, A, D)), P)
            if A > 1:
                dh += _dot(g1, tl.trans(_block(w2, relation, i, 1, d, A, D)), P)
            if A > 2:
                dh += _dot(g2, tl.trans(_block(w2, relation, i, 2, d, A, D)), P)
            if A > 3:
                dh += _dot(g3, tl.trans(_block(w2, relation, i, 3, d, A, D)), P)
            di = dh * _mish_slope(inner)
            tl.store(d_inner + rows[:, None] * K + i * D + d[None, :], di, mask=ok[:, None])
            x0 += _dot(di, tl.trans(_block(w1, relation, 0, i, d, A, D)), P)
            if A > 1:
                x1 += _dot(di, tl.trans(_block(w1, relation, 1, i, d, A, D)), P)
            if A > 2:
                x2 += _dot(di, tl.trans(_block(w1, relation, 2, i, d, A, D)), P)
            if A > 3:
                x3 += _dot(di, tl.trans(_block(w1, relation, 3, i, d, A, D)), P)
        for o in tl.static_range(A):
            y = x0
            if o == 1:
                y = x1
            if o == 2:
                y = x2
            if o == 3:
                y = x3
            place = tl.load(position + rows * A + o, mask=ok, other=0)
            tl.store(d_slots + place[:, None] * D + d[None, :], y, mask=ok[:, None])

    @triton.jit
    def weights_kernel(
        x, index, pieces, hidden, d_inner, change, sums, bias_sums,
        A: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, P: tl.constexpr,
    ):  # fmt: skip
        """Adds the contribution of one piece to block (p, q) of the gradients of both matrices, and to those of the
        biases."""
        piece = tl.program_id(0)
        p = tl.program_id(1) // A
        q = tl.program_id(1) % A
        which = tl.program_id(2)
        first = tl.load(pieces + piece * 3 + 1)
        end = tl.load(pieces + piece * 3 + 2)
        d = tl.arange(0, D)
        K: tl.constexpr = A * D
        total = tl.zeros([D, D], tl.float32)
        bias = tl.zeros([D], tl.float32)
        for start in range(first, end, BM):
            rows = start + tl.arange(0, BM)
            ok = rows < end
            if which == 0:
                left = _rows_of(x, index, rows, ok, d, p, A, D)
                right = tl.load(d_inner + rows[:, None] * K + q * D + d[None, :], mask=ok[:, None], other=0.0)
            else:
                left = _mish(tl.load(hidden + rows[:, None] * K + p * D + d[None, :], mask=ok[:, None], other=0.0))
                right = tl.load(change + rows[:, None] * K + q * D + d[None, :], mask=ok[:, None], other=0.0)
            total += _dot(tl.trans(left), right, P)
            bias += tl.sum(right, axis=0)
        _add(sums + (piece * 2 + which) * K * K + (p * D + d[:, None]) * K + q * D + d[None, :], total)
        if p == 0:
            _add(bias_sums + (piece * 2 + which) * K + q * D + d, bias)

    @triton.jit
    def segment_sum_kernel(values, offset, base, out, D: tl.constexpr, BS: tl.constexpr):
        """Base plus the sum of the rows of one node."""
        node = tl.program_id(0)
        low = tl.load(offset + node)
        high = tl.load(offset + node + 1)
        d = tl.arange(0, D)
        s = tl.load(base + node * D + d)
        for start in range(low, high, BS):
            r = start + tl.arange(0, BS)
            s += tl.sum(tl.load(values + r[:, None] * D + d[None, :], mask=(r < high)[:, None], other=0.0), axis=0)
        tl.store(out + node * D + d, s)

    @triton.jit
    def _update_block(w, row, column, d, IN: tl.constexpr, D: tl.constexpr):
        """Transposed block [D, D] of the weight [out, IN] of a linear map: inputs of `column` by outputs of `row`."""
        return tl.load(w + (row * D + d[None, :]) * IN + column * D + d[:, None])

    @triton.jit
    def _update_inner(x, m, u1, c1, i, d, D: tl.constexpr, P: tl.constexpr):
        """Block i of the hidden layer of the update network, before activation."""
        inner = _dot(x, _update_block(u1, i, 0, d, 2 * D, D), P)
        inner += _dot(m, _update_block(u1, i, 1, d, 2 * D, D), P)
        return inner + tl.load(c1 + i * D + d)[None, :]

    @triton.jit
    def update_kernel(
        x, joined, u1, c1, u2, c2, scale, shift, out, count,
        NORM: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, P: tl.constexpr,
    ):  # fmt: skip
        """Embeddings of a tile of nodes after the update."""
        rows = tl.program_id(0) * BN + tl.arange(0, BN)
        ok = (rows < count)[:, None]
        d = tl.arange(0, D)
        at = rows[:, None] * D + d[None, :]
        xs = tl.load(x + at, mask=ok, other=0.0)
        ms = tl.load(joined + at, mask=ok, other=0.0)
        change = tl.zeros([BN, D], tl.float32) + tl.load(c2 + d)[None, :]
        for i in tl.static_range(2):
            h = _mish(_update_inner(xs, ms, u1, c1, i, d, D, P))
            change += _dot(h, _update_block(u2, 0, i, d, 2 * D, D), P)
        if NORM:
            centred = change - tl.sum(change, axis=1)[:, None] / D
            spread = tl.rsqrt(tl.sum(centred * centred, axis=1) / D + 1e-5)[:, None]
            change = centred * spread * tl.load(scale + d)[None, :] + tl.load(shift + d)[None, :]
        tl.store(out + at, xs + change, mask=ok)

    @triton.jit
    def update_backward_kernel(
        x, joined, u1, c1, u2, c2, scale, gradient, d_x, d_joined, sums, count,
        NORM: tl.constexpr, D: tl.constexpr, BN: tl.constexpr, P: tl.constexpr,
    ):  # fmt: skip
        """Gradients with respect to the inputs of a tile of nodes. The gradients of the weights are added to the tile's
        row of `sums`: u1 [2D, 2D], u2 [D, 2D], c1 [2D], c2 [D], scale [D], shift [D]."""
        tile = tl.program_id(0)
        rows = tile * BN + tl.arange(0, BN)
        ok = (rows < count)[:, None]
        d = tl.arange(0, D)
        at = rows[:, None] * D + d[None, :]
        sums += tile * (6 * D * D + 5 * D)
        biases = sums + 6 * D * D
        xs = tl.load(x + at, mask=ok, other=0.0)
        ms = tl.load(joined + at, mask=ok, other=0.0)
        g = tl.load(gradient + at, mask=ok, other=0.0)
        inner0 = _update_inner(xs, ms, u1, c1, 0, d, D, P)
        inner1 = _update_inner(xs, ms, u1, c1, 1, d, D, P)
        dx = g
        dm = tl.zeros([BN, D], tl.float32)
        if NORM:
            change = tl.zeros([BN, D], tl.float32) + tl.load(c2 + d)[None, :]
            change += _dot(_mish(inner0), _update_block(u2, 0, 0, d, 2 * D, D), P)
            change += _dot(_mish(inner1), _update_block(u2, 0, 1, d, 2 * D, D), P)
            centred = change - tl.sum(change, axis=1)[:, None] / D
            spread = tl.rsqrt(tl.sum(centred * centred, axis=1) / D + 1e-5)[:, None]
            normal = centred * spread
            _add(biases + 3 * D + d, tl.sum(g * normal, axis=0))
            _add(biases + 4 * D + d, tl.sum(g, axis=0))
            scaled = g * tl.load(scale + d)[None, :]
            g = spread * (
                scaled - tl.sum(scaled, axis=1)[:, None] / D - normal * (tl.sum(scaled * normal, axis=1)[:, None] / D)
            )
            g = tl.where(ok, g, 0.0)
        _add(biases + 2 * D + d, tl.sum(g, axis=0))
        for i in tl.static_range(2):
            inner = inner0
            if i == 1:
                inner = inner1
            block = sums + 4 * D * D + d[:, None] * (2 * D) + i * D + d[None, :]
            _add(block, _dot(tl.trans(g), _mish(inner), P))
            di = _dot(g, tl.trans(_update_block(u2, 0, i, d, 2 * D, D)), P) * _mish_slope(inner)
            di = tl.where(ok, di, 0.0)
            _add(biases + i * D + d, tl.sum(di, axis=0))
            block = sums + (i * D + d[:, None]) * (2 * D) + d[None, :]
            _add(block, _dot(tl.trans(di), xs, P))
            _add(block + D, _dot(tl.trans(di), ms, P))
            dx += _dot(di, tl.trans(_update_block(u1, i, 0, d, 2 * D, D)), P)
            dm += _dot(di, tl.trans(_update_block(u1, i, 1, d, 2 * D, D)), P)
        tl.store(d_x + at, dx, mask=ok)
        tl.store(d_joined + at, dm, mask=ok)


class CudaMessagePassing(MessagePassing):
    """Layers on a GPU. Messages are in slot order, so that the messages to a node are adjacent."""

    def __init__(self, network: RelationalNetwork, layout: Layout, weights: tuple[Tensor, ...]) -> None:
        super().__init__(network, layout, weights)
        self.fused = is_fused(network) and weights[0].dtype == torch.float32
        self.mode = MODES[self.spec.aggregation]
        self.precision = PRECISIONS[self.spec.precision]
        self.scale, self.shift = self.norm or (self.bias2, self.bias2)
        self.node_tiles = -(-layout.node_count // NODES)
        self.device = weights[0].device
        self.branches = {
            number: Branch(self.device, number, urgent=True)
            for number, group in reversed(list(enumerate(layout.groups)))
            if len(group.tiles)
        }
        """Where the groups that have atoms are processed. Those of the highest arity take longest and begin first."""

    def forward(self, x: Tensor, keep: bool) -> tuple[Tensor, Saved | None]:
        """Embeddings after one more layer, and what its backward pass needs."""
        if not self.fused:
            return super().forward(x, keep)
        layout = self.layout
        messages = x.new_empty(max(1, layout.slot_count), self.size)
        hidden = [x.new_empty(group.index.numel() * self.size if keep else 0) for group in layout.groups]
        for number, branch in self.branches.items():
            group, (w1, b1, w2, b2) = layout.groups[number], self.message_weights[number]
            branch.start()
            with branch.work():
                messages_kernel[(len(group.tiles),)](
                    x, group.index, group.position, group.tiles, w1, b1, w2, b2, messages,
                    hidden[number], KEEP=keep, A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=4,
                )  # fmt: skip
        for branch in self.branches.values():
            branch.join()
        joined, result = torch.empty_like(x), torch.empty_like(x)
        ties = torch.empty_like(x) if self.mode == 1 else joined
        aggregate_kernel[(layout.node_count,)](
            messages, layout.slot_offset, joined, ties, self.spec.sharpness,
            MODE=self.mode, D=self.size, BS=SEGMENT_ROWS, num_warps=2,
        )  # fmt: skip
        update_kernel[(self.node_tiles,)](
            x, joined, self.update1, self.bias1, self.update2, self.bias2, self.scale, self.shift, result,
            layout.node_count, NORM=bool(self.norm), D=self.size, BN=NODES, P=self.precision, num_warps=4,
        )  # fmt: skip
        # The derivatives of the aggregate are computed from the messages.
        return result, Saved(x, joined, hidden, [messages, ties]) if keep else None

    def start_gradients(self) -> None:
        """Sets the sums of the gradients of the weights, one row per piece of work, to zero."""
        if not self.fused:
            super().start_gradients()
            return
        layout, new = self.layout, self.update1
        self.sums: list[tuple[Tensor, Tensor]] = []
        for group in layout.groups:
            width = group.arity * self.size
            self.sums.append(
                (new.new_zeros(len(group.pieces), 2, width, width), new.new_zeros(len(group.pieces), 2, width))
            )
        self.update_sums = new.new_zeros(self.node_tiles, 6 * self.size**2 + 5 * self.size)
        self.d_slots = new.new_empty(max(1, layout.slot_count), self.size)
        self.weight_work = {number: _WeightWork(self, number) for number in self.branches}
        self.kept: list[Tensor] = []
        """Embeddings and hidden layers that branches may still read."""

    def backward(self, saved: Saved, gradient: Tensor) -> Tensor:
        """Gradient with respect to the embeddings before the layer; gradients of the weights are added up."""
        if not self.fused:
            return super().backward(saved, gradient)
        layout = self.layout
        d_x, d_joined, result = (torch.empty_like(gradient) for _ in range(3))
        update_backward_kernel[(self.node_tiles,)](
            saved.x, saved.joined, self.update1, self.bias1, self.update2, self.bias2, self.scale, gradient,
            d_x, d_joined, self.update_sums, layout.node_count,
            NORM=bool(self.norm), D=self.size, BN=NODES, P=self.precision, num_warps=4,
        )  # fmt: skip
        self.kept += [saved.x, *saved.hidden]
        messages, ties = saved.share
        for number, branch in self.branches.items():
            group, work = layout.groups[number], self.weight_work[number]
            w1, _, w2, _ = self.message_weights[number]
            branch.start()
            scratch = work.free_scratch(branch)
            with branch.work():
                backward_kernel[(len(group.tiles),)](
                    messages, saved.joined, ties, layout.slot_offset, d_joined,
                    group.index, group.position, group.tiles, w1, w2, saved.hidden[number],
                    self.d_slots, *scratch, self.spec.sharpness,
                    MODE=self.mode, A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=4,
                )  # fmt: skip
            work.branch.follow(branch)
            with work.branch.work():
                weights_kernel[(len(group.pieces), group.arity * group.arity, 2)](
                    saved.x, group.index, group.pieces, saved.hidden[number], *scratch, *self.sums[number],
                    A=group.arity, D=self.size, BM=TILE, P=self.precision, num_warps=2,
                )  # fmt: skip
            work.give_back(scratch)
        for branch in self.branches.values():
            branch.join()
        segment_sum_kernel[(layout.node_count,)](
            self.d_slots, layout.slot_offset, d_x, result, D=self.size, BS=SEGMENT_ROWS, num_warps=1
        )
        return result

    def gradients(self) -> list[Tensor]:
        """Gradients of all weights: the sums over the rows of each relation, in a fixed order."""
        if not self.fused:
            return super().gradients()
        for work in self.weight_work.values():
            work.branch.join()
        self.kept.clear()
        result: list[Tensor] = []
        for group, weights, parts in zip(self.layout.groups, self.message_weights, self.sums, strict=True):
            matrices, biases = (self._sum_pieces(group.piece_offset, part) for part in parts)
            result += [
                part[:, which].reshape(weight.shape)
                for (part, which), weight in zip(
                    ((matrices, 0), (biases, 0), (matrices, 1), (biases, 1)), weights, strict=True
                )
            ]
        total = self.update_sums.sum(0)
        square = self.size**2
        parts = total.split([4 * square, 2 * square, 2 * self.size, self.size, self.size, self.size])
        u1, u2, c1, c2, scale, shift = parts
        update = [u1.view(self.update1.shape), c1, u2.view(self.update2.shape), c2]
        return [*result, *update, *((scale, shift) if self.norm else ())]

    def _sum_pieces(self, offset: Tensor, part: Tensor) -> Tensor:
        """Sums of adjacent rows, one per relation."""
        flat = part.reshape(len(part), -1)
        if not len(flat):
            return part.new_zeros(len(offset) - 1, *part.shape[1:])
        total = torch.segment_reduce(flat, "sum", offsets=offset, axis=0, initial=0)
        return total.reshape(len(offset) - 1, *part.shape[1:])


class _WeightWork:
    """The branch that sums the gradients of a group's weights, and what the layers leave there for it.

    Two layers may be under way: one writes while the other is read.
    """

    def __init__(self, passing: CudaMessagePassing, number: int) -> None:
        group = passing.layout.groups[number]
        self.branch = Branch(passing.device, len(passing.layout.groups) + number)
        new = passing.update1
        self.free: deque[tuple[list[Tensor], Any]] = deque(
            ([new.new_empty(group.index.numel() * passing.size) for _ in range(2)], None) for _ in range(2)
        )

    def free_scratch(self, branch: Branch) -> list[Tensor]:
        """Memory for one layer, which the branch may write to once it has been read."""
        scratch, mark = self.free.popleft()
        branch.wait(mark)
        return scratch

    def give_back(self, scratch: list[Tensor]) -> None:
        """Marks memory as free after all work of the branch so far."""
        self.free.append((scratch, self.branch.mark()))
