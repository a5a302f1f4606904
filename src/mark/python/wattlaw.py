"""wattlaw: what a training program tells wattlaw, from Python.

The same marks as <wattlaw/mark.h> (ABI 1) with the standard library alone: copy this one file next
to your program, or put it on PYTHONPATH. Without WATTLAW_MARKS every call returns at once.

    import wattlaw
    wattlaw.job(gradient_bytes, batch_per_rank, global_batch)
    with wattlaw.phase("train"):
        for batch in loader:
            ...
            wattlaw.step(len(batch))
            wattlaw.loss(float(loss))

Calls from several threads of one process must not overlap. A forked child gets its own slot.
"""

import contextlib
import mmap
import os
import platform
import struct
import threading
import time

__all__ = [
    "ABI", "rank", "step", "epoch", "phase_begin", "phase_end", "phase", "loss", "job", "energy_j", "active",
]

ABI = 1

# The layout of src/record/mark_abi.h, in 8-byte words.
_MAGIC = int.from_bytes(b"WLMARK01", "little")
_RING, _DEPTH, _EVENT_WORDS, _TEXT_WORDS, _RING_AT = 4096, 8, 7, 3, 32
_SLOT_BYTES = 8 * (_RING_AT + _RING * _EVENT_WORDS)
(_W_MAGIC, _W_ABI, _W_PID, _W_START, _W_RANK, _W_N_RANKS, _W_GRADIENT, _W_BATCH, _W_GLOBAL, _W_STEPS,
 _W_SAMPLES, _W_EPOCHS, _W_FIRST, _W_LAST, _W_HEAD, _W_BEAT) = range(16)
_STEP, _EPOCH, _PHASE_BEGIN, _PHASE_END, _LOSS = range(1, 6)
_EMPTY = (0,) * _TEXT_WORDS
_M64 = (1 << 64) - 1
_BEAT_FRESH_NS = 5_000_000_000

_slot = None       # memoryview of words; None: not tried (while _tried is False) or not measuring
_tried = False
_energy = None
_energy_tried = False
_phases = []

# A store of one word through a memoryview is one machine store. x86 keeps stores in order; elsewhere two
# lock operations order them (release, then acquire).
if platform.machine().lower() in ("x86_64", "amd64", "i686"):
    def _fence():
        pass
else:
    _lock = threading.Lock()

    def _fence():
        for _ in range(2):
            _lock.acquire()
            _lock.release()


def _rank_from_env():
    for rank_name, size_name in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                                 ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
                                 ("PMI_RANK", "PMI_SIZE"), ("RANK", "WORLD_SIZE"),
                                 ("SLURM_PROCID", "SLURM_NTASKS")):
        try:
            rank_, size = int(os.environ[rank_name]), int(os.environ[size_name])
        except (KeyError, ValueError):
            continue
        if 0 <= rank_ < size:
            return rank_, size
    return 0, 0


def _make(directory):
    for n in range(256):
        path = os.path.join(directory, "slot.%d.%d" % (os.getpid(), n))
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            break
        except FileExistsError:
            continue
    else:
        return None
    try:
        # Reserve every page now: a full tmpfs must not kill the job at a later store. (Python ignores
        # SIGXFSZ, so that a file size limit is an OSError.)
        os.posix_fallocate(fd, 0, _SLOT_BYTES)
        words = memoryview(mmap.mmap(fd, _SLOT_BYTES)).cast("Q")
    except (OSError, ValueError):
        os.unlink(path)
        return None
    finally:
        os.close(fd)
    words[_W_ABI] = ABI
    words[_W_PID] = os.getpid()
    words[_W_START] = time.monotonic_ns()
    words[_W_RANK], words[_W_N_RANKS] = _rank_from_env()
    _fence()
    words[_W_MAGIC] = _MAGIC
    return words


def _start():
    global _slot, _tried
    _tried = True
    directory = os.environ.get("WATTLAW_MARKS")
    if directory:
        try:
            _slot = _make(directory)
        except OSError:
            _slot = None
    return _slot


def _after_fork():
    global _slot, _tried
    _slot = None
    _tried = False
    _phases.clear()


os.register_at_fork(after_in_child=_after_fork)


def _get():
    return _slot if _tried else _start()


def _put(s, kind, t_ns, value, text=_EMPTY):
    head = s[_W_HEAD]
    at = _RING_AT + (head % _RING) * _EVENT_WORDS
    s[at + 6] = 0
    _fence()
    s[at] = t_ns
    s[at + 1] = kind | (s[_W_STEPS] << 8) & _M64
    s[at + 2] = value
    s[at + 3], s[at + 4], s[at + 5] = text
    _fence()
    s[at + 6] = head + 1
    _fence()
    s[_W_HEAD] = head + 1


def rank(rank_, n_ranks):
    """Rank of this process; taken from the launcher's environment if never called."""
    s = _get()
    if s is not None and 0 <= rank_ < n_ranks:
        s[_W_RANK] = rank_
        s[_W_N_RANKS] = n_ranks


def step(n_samples):
    """One optimizer step ended, in which this process consumed n_samples samples."""
    s = _get()
    if s is None:
        return
    n = int(n_samples)
    t = time.monotonic_ns()
    if not s[_W_STEPS]:
        s[_W_FIRST] = t
    s[_W_LAST] = t
    s[_W_SAMPLES] = (s[_W_SAMPLES] + n) & _M64
    _fence()
    s[_W_STEPS] += 1
    _put(s, _STEP, t, n)


def epoch():
    """An epoch ended."""
    s = _get()
    if s is not None:
        s[_W_EPOCHS] += 1
        _put(s, _EPOCH, time.monotonic_ns(), s[_W_EPOCHS])


def _text(name):
    """name cut at 23 bytes, as words."""
    return struct.unpack("=3Q", str(name).encode("utf-8", "replace")[:23].ljust(24, b"\0"))


def phase_begin(name):
    """Phases may nest up to 8 deep; deeper ones are not reported."""
    s = _get()
    if s is None:
        return
    text = _text(name)
    _phases.append(text)
    if len(_phases) <= _DEPTH:
        _put(s, _PHASE_BEGIN, time.monotonic_ns(), len(_phases), text)


def phase_end():
    s = _get()
    if s is None or not _phases:
        return
    text = _phases.pop()
    if len(_phases) < _DEPTH:
        _put(s, _PHASE_END, time.monotonic_ns(), len(_phases) + 1, text)


@contextlib.contextmanager
def phase(name):
    """`with wattlaw.phase("train"):` begins and ends a phase."""
    phase_begin(name)
    try:
        yield
    finally:
        phase_end()


def loss(value):
    """Loss (or another figure of merit) after the current step."""
    s = _get()
    if s is not None:
        _put(s, _LOSS, time.monotonic_ns(), struct.unpack("=Q", struct.pack("=d", value))[0])


def job(gradient_bytes, batch_per_rank, global_batch):
    """Bytes all-reduced in a step and the batch sizes, once before training."""
    s = _get()
    if s is not None:
        s[_W_GRADIENT], s[_W_BATCH], s[_W_GLOBAL] = int(gradient_bytes), int(batch_per_rank), int(global_batch)


def _energy_start():
    global _energy, _energy_tried
    _energy_tried = True
    directory = os.environ.get("WATTLAW_MARKS")
    if not directory:
        return
    try:
        with open(os.path.join(directory, "energy"), "rb") as f:
            words = memoryview(mmap.mmap(f.fileno(), 32, prot=mmap.PROT_READ)).cast("Q")
        if words[0] == _MAGIC and words[1] == ABI:
            _energy = words
    except (OSError, ValueError):
        pass


def energy_j():
    """Joules of the measured components since the job began; NaN when unknown or not measuring."""
    if not _energy_tried:
        _energy_start()
    if _energy is None:
        return float("nan")
    uj = _energy[2]
    return float("nan") if uj == _M64 else uj / 1e6


def active():
    """True when a wattlaw keeper is reading the marks of this process."""
    s = _get()
    beat = s[_W_BEAT] if s is not None else 0
    return bool(beat) and time.monotonic_ns() - beat < _BEAT_FRESH_NS
