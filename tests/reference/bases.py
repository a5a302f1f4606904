#!/usr/bin/python3
"""Prints fixtures/bases.txt: the functions of distance and angle that graph networks see, by scipy and numpy.

usage: bases.py [--check FILE]

Lines: gaussian D N VALUES (cutoff 10), cosine D VALUE (cutoff 10), zeros L VALUES of the spherical Bessel function,
bessel L X VALUE, radial D VALUES (DimeNet's, cutoff 5), spherical D ANGLE VALUES (DimeNet's, cutoff 5).
"""
import sys

import numpy as np
import scipy.special

import graphs

DISTANCES = (0.3, 0.74, 1.09, 1.4, 2.5, 3.3, 4.2, 4.99)
ANGLES = (0.0, 0.4, 1.2, 1.9106, 2.7, np.pi)


def lines():
    for d in (*DISTANCES, 9.3, 9.999):
        g = np.exp(-0.5 * ((d - np.linspace(0, 10, 50)) / (10 / 49)) ** 2)
        yield "gaussian", [d, 50, *g]
        yield "cosine", [d, 0.5 * (np.cos(np.pi * d / 10) + 1)]
    for l, zeros in enumerate(graphs.bessel_zeros(7, 6)):
        yield "zeros", [l, *zeros]
        for x in (1e-6, 0.01, 0.7, 3.0, 9.0, 27.0):
            yield "bessel", [l, x, scipy.special.spherical_jn(l, x)]
    for d in DISTANCES:
        if d < 4.5:  # near the cutoff the digits of single precision are gone
            yield "radial", [d, *(graphs.envelope(d / 5) * np.sin(np.arange(1, 7) * np.pi * d / 5))]
        for a in ANGLES:
            yield "spherical", [d, a, *graphs.spherical_basis(np.array([d / 5]), np.array([a]))[0]]


def main():
    text = [" ".join((kind, *(f"{v:.12g}" for v in values))) for kind, values in lines()]
    if sys.argv[1:2] != ["--check"]:
        print("\n".join(text))
        return
    with open(sys.argv[2]) as f:
        on_file = f.read().splitlines()
    bad = 0 if len(text) == len(on_file) else 1
    for have, want in zip(text, on_file):
        a, b = have.split(), want.split()
        x, y = np.array(a[1:], float), np.array(b[1:], float)
        bad += a[0] != b[0] or x.shape != y.shape or not np.allclose(x, y, rtol=1e-8, atol=1e-11)
    print(f"bases: {len(text)} lines, {bad} differ")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
