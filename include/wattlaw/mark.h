/* wattlaw/mark.h: what a training program tells wattlaw, ABI version 1.
 *
 * Link with -lwattlaw. When nobody measures, every call is a no-op that costs a load and a
 * branch; when wattlaw measures, a call is two clock reads at most and a few aligned stores into
 * shared memory: no system call, no lock, no allocation after the first mark. Each process has its
 * own slot (a fork gets a new one); calls from several threads of one process must not overlap.
 */
#ifndef WATTLAW_MARK_H
#define WATTLAW_MARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WL_MARK_ABI 1

/* Rank of this process within the job; taken from the launcher's environment if never called. */
void wl_rank(int rank, int n_ranks);

/* One optimizer step ended, in which this process consumed n_samples samples. */
void wl_step(uint64_t n_samples);

/* An epoch ended. */
void wl_epoch(void);

/* Phases may nest up to 8 deep; names are cut at 23 bytes. "warmup", "train", "eval", "load" and
 * "checkpoint" are the usual ones. */
void wl_phase_begin(const char *name);
void wl_phase_end(void);

/* Loss (or another figure of merit) after the current step. */
void wl_loss(double value);

/* Bytes this process all-reduces in a step and the global batch, once before training; they are
 * kept with the run so that laws in the number of workers can tell weak from strong scaling. */
void wl_job(uint64_t gradient_bytes, uint64_t batch_per_rank, uint64_t global_batch);

/* Energy of the measured components since the job began, in joules, as last written by the
 * meter (refreshed a few times a second). NAN when unknown or not measuring. */
double wl_energy_j(void);

/* 1 when a wattlaw keeper is reading the marks of this process. */
int wl_active(void);

#ifdef __cplusplus
}
#endif

#endif
