#!/usr/bin/python3
"""Writes fixtures/NETWORK.txt: what PyTorch computes with weights and data from a hash.

usage: fixtures.py [DIRECTORY [NETWORK...]]

A fixture holds the loss of one step, the norm of every parameter's gradient with some of its values, and the losses of
20 steps of training on four batches in turn. tests/work/fixture_test.c compares; it needs no PyTorch.
"""
import os
import sys

import numpy as np
import torch

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
}
VALUES = 4  # of each gradient


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


def write(name, out):
    kind, lr = NETWORKS[name]
    network = getattr(networks, name)
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


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "fixtures")
    torch.set_num_threads(1)
    for name in sys.argv[2:] or NETWORKS:
        with open(os.path.join(folder, name + ".txt"), "w") as out:
            write(name, out)


if __name__ == "__main__":
    main()
