#!/usr/bin/env python3
"""embed.py OUT.c NAME=FILE...: files as const char arrays NAME[] (NUL-terminated) with NAME_len."""
import sys

out, pairs = sys.argv[1], [a.split("=", 1) for a in sys.argv[2:]]
with open(out, "w") as f:
    f.write("/* Made by tools/embed.py; do not edit. */\n#include <stddef.h>\n")
    for name, path in pairs:
        data = open(path, "rb").read()
        f.write(f"extern const char {name}[];\nextern const size_t {name}_len;\n")
        f.write(f"const size_t {name}_len = {len(data)};\nconst char {name}[] = {{")
        for i, byte in enumerate(data):
            f.write(("\n" if i % 24 == 0 else "") + f"{byte if byte < 128 else byte - 256},")
        f.write("0};\n")
