#!/usr/bin/env python3
"""Turn text files into a C table: table.py OUT.c SYMBOL FILE...

The table is an array of struct embed {name, text, size}, ended by a NULL name; name is the file's
base name. Included by code that declares the same struct (src/sim/profile.h).
"""
import os
import sys


def main():
    out, symbol, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    lines = ['#include "sim/profile.h"', '', f'const struct embed {symbol}[] = {{']
    for path in files:
        with open(path, 'rb') as f:
            data = f.read()
        lines.append(f'\t{{"{os.path.basename(path)}",')
        for i in range(0, len(data), 20):
            part = ''.join(f'\\{b:03o}' for b in data[i:i + 20])
            lines.append(f'\t\t"{part}"')
        lines.append(f'\t\t, {len(data)}}},')
    lines += ['\t{NULL, NULL, 0},', '};', '']
    with open(out, 'w') as f:
        f.write('\n'.join(lines))


main()
