"""A job of many short tasks: N children that end at once. Prints what it took: elapsed and CPU seconds, its own and theirs.

    python3 short_tasks.py N
"""

import os
import resource
import sys
import time


def cpu():
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def main():
    before, start = cpu(), time.monotonic()
    for _ in range(int(sys.argv[1])):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
    print(f"{time.monotonic() - start:.6f} {cpu() - before:.6f}", flush=True)


main()
