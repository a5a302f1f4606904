/* gpu_sensor.c: what the simulated device's own instruments say, as opposed to what it does.
 *
 * A power reading is the mean over a short window that ended at the last refresh; between
 * refreshes it does not change. The windows cover only part of the time, as on real boards
 * (Yang et al., SC'24: V100 about 10 of 20 ms, A100 and H100 about 25 of 100 ms).
 */
#include <math.h>

#include "sim/gpu.h"

/* splitmix64: a well-mixed 64-bit hash, for noise that is the same whoever reads. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static double uniform(uint64_t x)
{
	return (double)(mix(x) >> 11) / 9007199254740992.0;
}

double gpu_energy_at(const struct gpu_state *g, int64_t t_ns)
{
	struct gpu_hist next = {g->t_ns, g->energy_uj};
	uint32_t n = g->n_hist < GPU_HIST ? g->n_hist : GPU_HIST;

	if (t_ns >= g->t_ns)
		return g->energy_uj;
	for (uint32_t i = 1; i <= n; i++) {
		const struct gpu_hist *h = &g->hist[(g->n_hist - i) % GPU_HIST];

		if (h->t_ns <= t_ns) {
			double f = next.t_ns > h->t_ns ? (double)(t_ns - h->t_ns) /
								 (double)(next.t_ns - h->t_ns)
						       : 0;

			return h->energy_uj + f * (next.energy_uj - h->energy_uj);
		}
		next = *h;
	}
	/* Before what is remembered: extend backwards at the oldest known power. */
	return next.energy_uj - g->now.power_mw * (double)(next.t_ns - t_ns) / 1e6;
}

/* Last refresh at or before t, and its number. Each board has its own phase. */
static int64_t last_refresh(const struct gpu_state *g, int64_t period, uint64_t salt, uint64_t *k)
{
	int64_t phase = (int64_t)(uniform(g->seed ^ salt) * (double)period);
	int64_t since = g->t_ns - g->start_ns + phase;

	*k = (uint64_t)(since / period);
	return g->t_ns - since % period;
}

static double window_mean(const struct gpu_state *g, int64_t end_ns, int64_t window_ns)
{
	int64_t begin = end_ns - window_ns;

	if (begin < g->start_ns)
		begin = g->start_ns;
	if (end_ns <= begin)
		return g->prof.idle_mw;
	return (gpu_energy_at(g, end_ns) - gpu_energy_at(g, begin)) / (double)(end_ns - begin) *
	       1e6;
}

bool gpu_read_power(const struct gpu_state *g, enum gpu_reading kind, int64_t *mw)
{
	const struct gpu_profile *p = &g->prof;
	int64_t window = p->power_window_ns, end;
	uint64_t k;
	double v;

	if (kind == GPU_READ_AVERAGE && p->average_window_ns == 0)
		return false;
	if (kind == GPU_READ_AVERAGE ||
		(kind == GPU_READ_DEFAULT && p->power_kind == GPU_POWER_AVERAGE))
		window = p->average_window_ns;
	if (p->power_refresh_ns <= 0)
		return false;
	end = last_refresh(g, p->power_refresh_ns, 1, &k);
	v = window_mean(g, end, window) * p->gain;
	if (p->noise > 0) {
		/* Sum of two uniforms: triangular, bounded at 2.45 standard deviations. */
		double u = uniform(g->seed + k * 2 + 11) + uniform(g->seed + k * 2 + 12) - 1;

		v *= 1 + p->noise * u * 2.449489742783178;
	}
	*mw = v > 0 ? (int64_t)(v + 0.5) : 0;
	return true;
}

bool gpu_read_counter(const struct gpu_state *g, double *uj)
{
	const struct gpu_profile *p = &g->prof;
	uint64_t k;
	int64_t at;
	double v;

	if (p->counter_refresh_ns <= 0)
		return false;
	at = last_refresh(g, p->counter_refresh_ns, 2, &k);
	if (at < g->start_ns)
		at = g->start_ns;
	v = (gpu_energy_at(g, at) - g->counter_base_uj) * p->gain;
	*uj = v > 0 ? v : 0;
	return true;
}

void gpu_counter_reset(struct gpu_state *g)
{
	g->counter_base_uj = g->energy_uj;
}
