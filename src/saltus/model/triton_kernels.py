"""Stage `model`: the Triton kernels of message passing on a GPU, which `cuda.py` calls.

Per layer and arity, one kernel gathers the arguments of a tile of atoms, applies the network of their relation and
writes the messages to the segments of their targets; one kernel reduces the segments. The backward pass has one kernel
per arity for the gradients with respect to the arguments, and one for those of the weights. The latter are summed in a
table with a row per piece of work, to each entry of which one program adds per layer: the same input gives the same
bits. All atoms of a tile are of one relation.
"""

# ruff: noqa: N803, N806 (kernels name their sizes as the formulas do)
# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-not-found, import-untyped"

from __future__ import annotations

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
def aggregate_kernel(messages, offset, out, sharpness, D: tl.constexpr, BS: tl.constexpr):
    """Smooth maximum of the messages to one node."""
    node = tl.program_id(0)
    low = tl.load(offset + node)
    high = tl.load(offset + node + 1)
    d = tl.arange(0, D)
    s = tl.zeros([D], tl.float32)
    m = tl.full([D], float("-inf"), tl.float32)
    for start in range(low, high, BS):
        r = start + tl.arange(0, BS)
        y = tl.load(messages + r[:, None] * D + d[None, :], mask=(r < high)[:, None], other=float("-inf"))
        top = tl.maximum(m, tl.max(y, axis=0))
        s = s * tl.exp(sharpness * (m - top)) + tl.sum(tl.exp(sharpness * (y - top[None, :])), axis=0)
        m = top
    some = high > low
    result = tl.where(some, m + tl.log(tl.where(some, s, 1.0)) / sharpness, 0.0)
    tl.store(out + node * D + d, result)


@triton.jit
def _change(
    messages, joined, d_joined, index, position, rows, ok, d, o, sharpness, A: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Gradient with respect to the messages to argument o of the atoms of a tile."""
    node = tl.load(index + rows * A + o, mask=ok, other=0)
    at = node[:, None] * D + d[None, :]
    g = tl.load(d_joined + at, mask=ok[:, None], other=0.0)
    place = tl.load(position + rows * A + o, mask=ok, other=0)
    y = tl.load(messages + place[:, None] * D + d[None, :], mask=ok[:, None], other=0.0)
    top = tl.load(joined + at, mask=ok[:, None], other=0.0)
    g = g * tl.exp(sharpness * (y - top))
    return tl.where(ok[:, None], g, 0.0)


@triton.jit
def backward_kernel(
    messages, joined, d_joined, index, position, tiles, w1, w2, hidden, d_slots, d_inner, change, sharpness,
    A: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, P: tl.constexpr,
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
        g = _change(messages, joined, d_joined, index, position, rows, ok, d, o, sharpness, A, D)
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
    D: tl.constexpr, BN: tl.constexpr, P: tl.constexpr,
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
    centred = change - tl.sum(change, axis=1)[:, None] / D
    spread = tl.rsqrt(tl.sum(centred * centred, axis=1) / D + 1e-5)[:, None]
    change = centred * spread * tl.load(scale + d)[None, :] + tl.load(shift + d)[None, :]
    tl.store(out + at, xs + change, mask=ok)


@triton.jit
def update_backward_kernel(
    x, joined, u1, c1, u2, c2, scale, gradient, d_x, d_joined, sums, count,
    D: tl.constexpr, BN: tl.constexpr, P: tl.constexpr,
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
