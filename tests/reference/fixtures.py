#!/usr/bin/python3
"""Writes fixtures/NETWORK.txt: what PyTorch computes with weights and data from a hash.

usage: fixtures.py [DIRECTORY [NETWORK...]]
       fixtures.py --check     compute again, with the seeds on file, and compare

A fixture holds the loss of one step, the norm of every parameter's gradient with some of its values, and the losses of
20 steps of training on four batches in turn. tests/work/fixture_test.c compares; it needs no PyTorch.
"""
import io
import os
import sys

import numpy as np
import torch

import graphs
import networks
from hashed import PICKS, Params, below

# optimizer and learning rate of the 20 steps
NETWORKS = {
    "vgg16": ("sgd", 0.005),
    "resnet18": ("sgd", 2e-4),
    "resnet50": ("sgd", 5e-5),
    "inception_v3": ("sgd", 1e-7),
    "unet": ("adam", 1e-4),
    "bert": ("adamw", 1e-3),
    "bert_classification": ("adamw", 5e-4),
    "distilbert": ("adamw", 1e-3),
    "gpt2": ("adamw", 1e-3),
    "schnet": ("adam", 1e-3),
    "dimenet": ("adam", 1e-3),
    "pna": ("adam", 1e-4),
    "nnconv": ("adam", 1e-3),
}
VALUES = 4  # of each gradient


def function_of(name):
    return getattr(networks, name, None) or getattr(graphs, name)


def optimizer(kind, lr, P):
    groups = [{"params": [v for v in P.values() if v.dim() > 1], "weight_decay": 0.01},
              {"params": [v for v in P.values() if v.dim() <= 1], "weight_decay": 0.0}]
    if kind == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=0.9)
    return (torch.optim.Adam if kind == "adam" else torch.optim.AdamW)(groups, lr=lr, eps=1e-8)


def clearest(network, tries=60):
    """The seed of weights whose forward pass stays farthest from the corners of relu."""
    best, far = 0, 0.0
    networks.margin.watched = True
    for seed in range(tries):
        networks.margin.smallest = float("inf")
        with torch.no_grad():
            network(Params(seed), 0)
        if networks.margin.smallest == float("inf"):
            break
        if networks.margin.smallest > far:
            best, far = seed, networks.margin.smallest
    networks.margin.watched = False
    return best


def write(name, out, seed=None):
    kind, lr = NETWORKS[name]
    network = function_of(name)
    if seed is None:
        seed = clearest(network)
    P = Params(seed)
    loss = network(P, 0)
    loss.backward()
    print(f"network {name}\nseed {seed}\noptimizer {kind} {lr}\nloss {loss.item():.9g}", file=out)
    for key, v in P.items():
        g = v.grad.flatten().numpy()
        at = below(PICKS, key, VALUES, g.size)
        values = " ".join(f"{g[i]:.9g}" for i in at)
        print(f"gradient {key} {np.linalg.norm(g.astype(np.float64)):.9g} {values}", file=out)
    opt = optimizer(kind, lr, P)
    for step in range(20):
        opt.zero_grad()
        loss = network(P, step % 4)
        loss.backward()
        opt.step()
        print(f"step {loss.item():.9g}", file=out)


def differs(have, want):
    """Two lines of a fixture: words equal, numbers within 0.1 % of the largest in the line."""
    a, b = have.split(), want.split()
    if len(a) != len(b):
        return True
    numbers = []
    for x, y in zip(a, b):
        try:
            numbers.append((float(x), float(y)))
        except ValueError:
            if x != y:
                return True
    scale = max((abs(y) for _, y in numbers), default=0)
    return any(abs(x - y) > 1e-3 * scale for x, y in numbers)


def check(folder):
    """Number of lines on file that PyTorch does not give again."""
    wrong = 0
    for name in NETWORKS:
        with open(os.path.join(folder, name + ".txt")) as f:
            on_file = f.read().splitlines()
        seed = int(next(line.split()[1] for line in on_file if line.startswith("seed ")))
        again = io.StringIO()
        write(name, again, seed)
        lines = again.getvalue().splitlines()
        bad = [(x, y) for x, y in zip(lines, on_file) if differs(x, y)]
        if len(lines) != len(on_file):
            bad.append((f"{len(lines)} lines", f"{len(on_file)} lines"))
        for have, want in bad[:3]:
            print(f"{name}: now '{have}', on file '{want}'")
        print(f"{name}: {len(lines)} lines, {len(bad)} differ")
        wrong += len(bad)
    return wrong


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    torch.set_num_threads(1)
    if sys.argv[1:] == ["--check"]:
        sys.exit(1 if check(os.path.join(here, "fixtures")) else 0)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "fixtures")
    for name in sys.argv[2:] or NETWORKS:
        with open(os.path.join(folder, name + ".txt"), "w") as out:
            write(name, out)


if __name__ == "__main__":
    main()
