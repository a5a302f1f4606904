"""The graph networks of wl-train at their tiny size, written with PyTorch's operations.

Molecules come from a hash; their edges, angles and bases are computed here, by numpy and scipy, from the published
formulas. Like networks.py: each function takes the parameters and the number of a step and returns the mean loss.
"""
import numpy as np
import scipy.optimize
import scipy.special
import torch
import torch.nn.functional as F

from hashed import DATA, below, uniform
from networks import linear, norm, relu

N = 4
ELEMENTS = 100
DEGREE_LOG_MEAN = 1.7


def molecule(step, g):
    """Atoms on a shaken grid; the last one of the last molecule is alone."""
    n, key = 4 + (step + 2 * g) % 5, f"{step}.{g}"
    i = np.arange(n)
    grid = np.stack((i % 3, i // 3 % 3, i // 9), 1).astype(np.float32)
    pos = np.float32(1.3) * grid + np.float32(0.5) * uniform(DATA, "pos" + key, 3 * n).reshape(n, 3)
    if g == N - 1:
        pos[-1] += np.float32(8)
    return np.array([1, 6, 7, 8])[below(DATA, "z" + key, n, 4)], pos


class Graphs:
    """N molecules as one graph; every atom hears those nearer than the cutoff (Angstrom)."""

    def __init__(self, step, cutoff):
        self.cutoff, self.z, self.mol, pos = cutoff, [], [], []
        for g in range(N):
            z, p = molecule(step, g)
            self.z.extend(z)
            self.mol.extend([g] * len(z))
            pos.extend(p.astype(np.float64))
        pos, mol = np.array(pos), np.array(self.mol)
        far = np.linalg.norm(pos[:, None] - pos[None], axis=2)
        near = (far < cutoff) & (mol[:, None] == mol[None]) & ~np.eye(len(mol), dtype=bool)
        dst, src = np.nonzero(near)
        self.pos, self.d = pos, far[dst, src]
        self.z, self.mol = torch.tensor(np.array(self.z)), torch.tensor(mol)
        self.src, self.dst = torch.tensor(src), torch.tensor(dst)
        self.target = torch.tensor(2 * uniform(DATA, f"target{step}", N) - 1)

    def cut(self):
        return single(0.5 * (np.cos(np.pi * self.d / self.cutoff) + 1))[:, None]

    def gaussians(self, n):
        mu = np.linspace(0, self.cutoff, n)
        return single(np.exp(-0.5 * ((self.d[:, None] - mu) / mu[1]) ** 2))

    def embedding(self, P, name, hidden):
        return F.embedding(self.z, P(name + ".weight", ELEMENTS, hidden))

    def to_atoms(self, x):
        return add(x, self.dst, len(self.z))

    def to_molecules(self, x):
        return add(x, self.mol, N)

    def loss(self, y):
        return F.mse_loss(y[:, 0], self.target)


def single(x):
    return torch.tensor(x.astype(np.float32))


def add(x, index, n):
    return torch.zeros(n, x.shape[1]).index_add(0, index, x)


def plain(P, name, x, out):
    return F.linear(x, P(name + ".weight", out, x.shape[-1]))


def ssp(x):
    """shifted softplus: log(e^x / 2 + 1 / 2)"""
    return F.softplus(x) - np.log(2)


def schnet(P, step, hidden=32, filters=32, layers=3, gaussians=25, cutoff=6.0):
    g = Graphs(step, cutoff)
    rbf, cut = g.gaussians(gaussians), g.cut()
    x = g.embedding(P, "embedding", hidden)
    for i in range(layers):
        p = f"interactions.{i}."
        w = linear(P, p + "mlp.2", ssp(linear(P, p + "mlp.0", rbf, filters)), filters) * cut
        m = g.to_atoms(plain(P, p + "conv.lin1", x, filters)[g.src] * w)
        x = x + linear(P, p + "lin", ssp(linear(P, p + "conv.lin2", m, hidden)), hidden)
    return g.loss(g.to_molecules(linear(P, "lin2", ssp(linear(P, "lin1", x, hidden // 2)), 1)))


def segment(x, index, n, reduce):
    """Mean, maximum or minimum of the rows of each target; 0 where there are none."""
    index = index[:, None].expand_as(x)
    return torch.zeros(n, x.shape[1]).scatter_reduce(0, index, x, reduce, include_self=False)


def pna(P, step, hidden=32, layers=2, gaussians=16, cutoff=3.0):
    g = Graphs(step, cutoff)
    n, rbf = len(g.z), g.gaussians(gaussians)
    degree = torch.bincount(g.dst, minlength=n)
    amplify = single(np.log(degree.numpy() + 1) / DEGREE_LOG_MEAN)[:, None]
    attenuate = single(DEGREE_LOG_MEAN / np.log(np.maximum(degree.numpy(), 1) + 1))[:, None]
    x = g.embedding(P, "node_emb", hidden)
    for i in range(layers):
        p = f"convs.{i}."
        e = linear(P, p + "edge_encoder", rbf, hidden)
        m = linear(P, p + "pre_nns.0.0", torch.cat((x[g.dst], x[g.src], e), 1), hidden)
        mean = segment(m, g.dst, n, "mean")
        std = (F.relu(segment(m * m, g.dst, n, "mean") - mean * mean) + 1e-5).sqrt()
        a = torch.cat((mean, segment(m, g.dst, n, "amax"), segment(m, g.dst, n, "amin"), std), 1)
        a = torch.cat((x, a, a * amplify, a * attenuate), 1)
        a = plain(P, p + "lin", plain(P, p + "post_nns.0.0", a, hidden), hidden)
        x = x + relu(norm(P, p + "norm", a))
    x = relu(linear(P, "mlp.0", g.to_molecules(x), hidden // 2))
    x = relu(linear(P, "mlp.2", x, hidden // 4))
    return g.loss(linear(P, "mlp.4", x, 1))


def gates(P, p, x, d, n):
    """Weights and biases of a GRU (n = 3) or LSTM (n = 4) cell in PyTorch's order."""
    return (P(p + "ih.weight", n * d, x.shape[1]), P(p + "hh.weight", n * d, d),
            P(p + "ih.bias", n * d), P(p + "hh.bias", n * d))


def set2set(P, p, g, x, steps=3):
    h = cell = torch.zeros(N, x.shape[1])
    q = torch.zeros(N, 2 * x.shape[1])
    for _ in range(steps):
        h, cell = torch._VF.lstm_cell(q, (h, cell), *gates(P, p, q, h.shape[1], 4))
        score = (x * h[g.mol]).sum(1)
        top = segment(score[:, None], g.mol, N, "amax")[g.mol, 0]
        weight = (score - top).exp()
        weight = weight / g.to_molecules(weight[:, None])[g.mol, 0]
        q = torch.cat((h, g.to_molecules(weight[:, None] * x)), 1)
    return q


def nnconv(P, step, dim=16, filters=32, gaussians=16, cutoff=3.0, rounds=3):
    g = Graphs(step, cutoff)
    h = relu(g.embedding(P, "lin0", dim))
    w = relu(linear(P, "conv.nn.0", g.gaussians(gaussians), filters))
    w = linear(P, "conv.nn.2", w, dim * dim).view(-1, dim, dim)
    for _ in range(rounds):
        m = segment(torch.einsum("ei,eio->eo", h[g.src], w), g.dst, len(g.z), "mean")
        m = relu(m + linear(P, "conv.root", h, dim))
        h = torch._VF.gru_cell(m, h, *gates(P, "gru.", m, dim, 3))
    x = relu(linear(P, "lin1", set2set(P, "set2set.lstm.", g, h), dim))
    return g.loss(linear(P, "lin2", x, 1))


def envelope(x, p=6):
    return 1 / x - (p + 1) * (p + 2) / 2 * x ** (p - 1) + p * (p + 2) * x ** p - p * (p + 1) / 2 * x ** (p + 1)


def bessel_zeros(n_spherical, n_radial):
    """The first zeros of each spherical Bessel function; those of one lie between those of the one before."""
    zeros = [np.arange(1, n_radial + n_spherical) * np.pi]
    for l in range(1, n_spherical):
        last = zeros[-1]
        zeros.append(np.array([scipy.optimize.brentq(lambda x, l=l: scipy.special.spherical_jn(l, x), a, b, xtol=1e-14)
                               for a, b in zip(last, last[1:])]))
    return np.array([z[:n_radial] for z in zeros])


def spherical_basis(x, angle, n_spherical=7, n_radial=6):
    """(T, spherical · radial): envelope(x) j_l(z_ln x) Y_l0(angle), j_l of unit norm over the ball."""
    out = []
    for l, zeros in enumerate(bessel_zeros(n_spherical, n_radial)):
        harmonic = scipy.special.sph_harm(0, l, 0, angle).real
        for z in zeros:
            norm = np.sqrt(2) / np.abs(scipy.special.spherical_jn(l + 1, z))
            out.append(envelope(x) * norm * scipy.special.spherical_jn(l, z * x) * harmonic)
    return np.stack(out, 1)


def triplets(g):
    """Pairs of edges (k → j, j → i) with k ≠ i, and the angle at j."""
    src, dst = g.src.numpy(), g.dst.numpy()
    kj, ji = np.nonzero((dst[:, None] == src[None]) & (src[:, None] != dst[None]))
    a, b = g.pos[dst[ji]] - g.pos[src[ji]], g.pos[src[kj]] - g.pos[dst[kj]]
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return kj, ji, np.arccos(np.clip(cosine, -1, 1))


def dimenet(P, step, hidden=16, blocks=1, bilinear=8, radial=6, cutoff=3.0):
    g = Graphs(step, cutoff)
    kj, ji, angle = triplets(g)
    x = single(g.d / cutoff)[:, None]
    rbf = torch.sin(F.linear(x, P("rbf.freq.weight", radial, 1))) * single(envelope(g.d / cutoff))[:, None]
    sbf = single(spherical_basis(g.d[kj] / cutoff, angle, n_radial=radial))

    def dense(name, x):
        return F.silu(linear(P, name, x, hidden))

    def residual(p, x):
        return x + dense(p + ".lin2", dense(p + ".lin1", x))

    def output(p, x):
        x = g.to_atoms(plain(P, p + "lin_rbf", rbf, hidden) * x)
        for i in range(3):
            x = dense(f"{p}lins.{i}", x)
        return plain(P, p + "lin", x, 1)

    def interaction(p, x):
        m = dense(p + "lin_kj", x) * plain(P, p + "lin_rbf", rbf, hidden)
        w = P(p + "lin_bil.weight", bilinear * hidden, hidden).view(bilinear, hidden, hidden)
        m = torch.einsum("tb,tl,bil->ti", plain(P, p + "lin_sbf", sbf, bilinear), m[kj], w)
        y = residual(p + "layers_before_skip.0", dense(p + "lin_ji", x) + add(m, torch.tensor(ji), len(x)))
        y = dense(p + "lin", y) + x
        for i in range(2):
            y = residual(f"{p}layers_after_skip.{i}", y)
        return y

    z = g.embedding(P, "emb.emb", hidden)
    x = dense("emb.lin", torch.cat((z[g.dst], z[g.src], dense("emb.lin_rbf", rbf)), 1))
    y = output("output_blocks.0.", x)
    for i in range(blocks):
        x = interaction(f"interaction_blocks.{i}.", x)
        y = y + output(f"output_blocks.{i + 1}.", x)
    return g.loss(g.to_molecules(y))
