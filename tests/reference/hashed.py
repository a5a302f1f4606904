"""Weights and data from a hash, the same as tests/work/fixture_test.c makes them (work/ops/rng.h)."""
import numpy as np
import torch

np.seterr(over="ignore")
U = np.uint64


def mix(x):
    x = x + U(0x9E3779B97F4A7C15)
    x = (x ^ (x >> U(30))) * U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> U(27))) * U(0x94D049BB133111EB)
    return x ^ (x >> U(31))


def stream(name):
    h = 0xCBF29CE484222325
    for c in name.encode():
        h = ((h ^ c) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def bits(seed, name, n):
    key = mix(np.array([seed], U) ^ mix(np.array([stream(name)], U)))
    return mix(key ^ np.arange(n, dtype=U))


def uniform(seed, name, n):
    """float32 in [0, 1)"""
    return (bits(seed, name, n) >> U(40)).astype(np.float32) * np.float32(2.0**-24)


def below(seed, name, n, limit):
    return (((bits(seed, name, n) >> U(32)) * U(limit)) >> U(32)).astype(np.int64)


WEIGHTS, DATA, PICKS = 77, 78, 79


class Params(dict):
    """Parameters by name, made when first asked for from the hash of that seed."""

    def __init__(self, seed=0):
        super().__init__()
        self.seed = WEIGHTS + 1000 * seed

    def __call__(self, name, *shape):
        if name not in self:
            n = int(np.prod(shape))
            v = 2 * uniform(self.seed, name, n) - 1
            if len(shape) > 1:
                v = v * np.float32(np.sqrt(3 / np.prod(shape[1:])))
            elif name.endswith("bn3.weight"):  # a residual branch's last: deep networks stay well conditioned
                v = np.float32(0.25) + np.float32(0.05) * v
            elif name.endswith("weight"):
                v = 1 + np.float32(0.2) * v
            else:
                v = np.float32(0.2) * v
            self[name] = torch.tensor(v.astype(np.float32).reshape(shape), requires_grad=True)
        return self[name]


def image(step, *shape):
    v = np.float32(1.7) * (2 * uniform(DATA, f"image{step}", int(np.prod(shape))) - 1)
    return torch.tensor(v.reshape(shape))


def labels(step, limit, *shape):
    return torch.tensor(below(DATA, f"label{step}", int(np.prod(shape)), limit).reshape(shape))


def tokens(step, vocab, *shape):
    return torch.tensor(5 + below(DATA, f"ids{step}", int(np.prod(shape)), vocab - 5).reshape(shape))


def masked(step, ids, mask):
    """Labels of a masked language model: the token where chosen and attended, else -1."""
    u = torch.tensor(uniform(DATA, f"chosen{step}", ids.numel()).reshape(ids.shape))
    return torch.where((u < 0.3) & (mask > 0), ids, torch.full_like(ids, -1))
