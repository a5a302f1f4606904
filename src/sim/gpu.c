#include "sim/gpu.h"

#include <math.h>
#include <string.h>

#define NS_S 1e9

static double clampd(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Dynamic power at x relative to x = 1: x·v(x)², v flat up to the knee, then linear. */
static double shape(const struct gpu_profile *p, double x)
{
	double v = p->v_floor;

	if (x > p->x_knee && p->x_knee < 1)
		v += (1 - p->v_floor) * (x - p->x_knee) / (1 - p->x_knee);
	return x * v * v;
}

/* The x at which shape() is y. Above the knee it is convex and rising, so that Newton's steps from
 * 1 come down to the root without passing it. */
static double shape_inverse(const struct gpu_profile *p, double y)
{
	double vf2 = p->v_floor * p->v_floor, slope, x = 1;

	if (y <= p->x_knee * vf2)
		return y / vf2;
	if (y >= 1 || p->x_knee >= 1)
		return 1;
	slope = (1 - p->v_floor) / (1 - p->x_knee);
	for (int i = 0; i < 12; i++) {
		double v = p->v_floor + slope * (x - p->x_knee), d = x * v * v - y;

		x -= d / (v * v + 2 * x * v * slope);
		if (d < 1e-12)
			break;
	}
	return x;
}

static double static_power(const struct gpu_profile *p, double mem_x)
{
	return p->static_mw - p->mem_mw * (1 - mem_x);
}

static double mem_ratio(const struct gpu_profile *p, int64_t mem_clock_khz)
{
	if (mem_clock_khz <= 0 || p->n_mem_clocks == 0 || p->mem_clock_khz[0] <= 0)
		return 1;
	return clampd((double)mem_clock_khz / (double)p->mem_clock_khz[0], 0.01, 1);
}

static void eval_work(const struct gpu_profile *p, const struct gpu_load *l, double limit_mw,
	double x_hi, double mem_x, struct gpu_point *out)
{
	double base = static_power(p, mem_x);
	double host = clampd(l->host_share, 0, 1), fixed = 1 - l->clock_share - l->mem_share;
	/* Kernels that wait longer for memory switch less. */
	double active = 1 / (1 - l->mem_share + l->mem_share / mem_x);
	double t_kernel = 0, e_kernel = 0, clock = 0, t_capped = 0, t_mem = 0;

	for (int i = 0; i < GPU_LEVELS; i++) {
		double z = (i + 0.5) / GPU_LEVELS * 2 - 1;
		double dyn = active * l->dyn_mw * (1 + clampd(l->spread, 0, 1) * z);
		double x = x_hi, t;
		bool capped = dyn > 0 && base + dyn * shape(p, x_hi) > limit_mw;

		if (capped) {
			x = limit_mw > base ? shape_inverse(p, (limit_mw - base) / dyn) : 0;
			/* A lock below the controller's floor still holds. */
			x = clampd(x, fmin(p->cap_floor, x_hi), x_hi);
		}
		t = (1 - host) / GPU_LEVELS * (fixed + l->clock_share / x + l->mem_share / mem_x);
		t_kernel += t;
		e_kernel += t * (base + dyn * shape(p, x));
		clock += t * x;
		t_mem += (1 - host) / GPU_LEVELS * (1 - l->clock_share);
		if (capped)
			t_capped += t;
	}
	out->power_mw = (e_kernel + host * p->wait_mw) / (t_kernel + host);
	out->clock_khz = (t_kernel > 0 ? clock / t_kernel : x_hi) * (double)p->clock_max_khz;
	out->rate = l->step_s > 0 ? 1 / (l->step_s * (t_kernel + host)) : 0;
	out->util = l->util > 0 ? l->util : t_kernel / (t_kernel + host);
	out->mem_util = t_mem / (t_kernel + host);
	out->capped = t_capped / (t_kernel + host);
}

void gpu_eval(const struct gpu_profile *p, const struct gpu_load *l, double limit_mw, double x_hi,
	int64_t mem_clock_khz, struct gpu_point *out)
{
	double mem_x = mem_ratio(p, mem_clock_khz);

	*out = (struct gpu_point){.clock_khz = x_hi * (double)p->clock_max_khz};
	switch (l->kind) {
	case LOAD_IDLE:
		out->power_mw = p->idle_mw;
		out->clock_khz = (double)p->clock_min_khz;
		break;
	case LOAD_WAIT:
		out->power_mw = p->wait_mw - fmin(p->mem_mw, p->wait_mw / 2) * (1 - mem_x);
		break;
	case LOAD_COMM:
		/* Copy kernels keep a few multiprocessors busy: a tenth of the dynamic power. */
		out->power_mw = static_power(p, mem_x) + 0.1 * l->dyn_mw * shape(p, x_hi);
		out->util = 1;
		out->mem_util = 0.1;
		break;
	case LOAD_CONST:
		out->power_mw = l->const_mw;
		out->util = l->util;
		break;
	case LOAD_WORK:
		eval_work(p, l, limit_mw, x_hi, mem_x, out);
		break;
	}
}

double gpu_computing_limit(const struct gpu_profile *p, double limit_mw, double busy)
{
	return (limit_mw - (1 - busy) * p->wait_mw) / busy;
}

void gpu_paced(const struct gpu_profile *p, const struct gpu_load *l, double limit_mw, double x_hi,
	int64_t mem_clock_khz, double step_floor_s, struct gpu_point *out, double *compute_s)
{
	double busy = 1, t = 0;

	/* The busy share sets the power left for computing, that the time of computing, and that
	 * the busy share. Starting from "always busy" it only falls, so this converges. */
	for (int i = 0; i < 60; i++) {
		double next;

		gpu_eval(p, l, gpu_computing_limit(p, limit_mw, busy), x_hi, mem_clock_khz, out);
		t = 1 / out->rate;
		next = fmin(1, t / step_floor_s);
		if (step_floor_s <= 0 || fabs(next - busy) < 1e-10)
			break;
		busy = next;
	}
	out->power_mw = busy * out->power_mw + (1 - busy) * p->wait_mw;
	out->util *= busy;
	out->mem_util *= busy;
	out->capped *= busy;
	out->rate = fmin(out->rate, step_floor_s > 0 ? 1 / step_floor_s : out->rate);
	if (compute_s)
		*compute_s = t;
}

void gpu_steady(const struct gpu_profile *p, const struct gpu_load *l, int64_t limit_mw,
	int64_t clock_max_khz, int64_t mem_clock_khz, struct gpu_point *out)
{
	double limit = (double)(limit_mw > 0 ? limit_mw : p->limit_def_mw);
	double x = 1;

	if (clock_max_khz > 0)
		x = (double)gpu_clock_grid(p, clock_max_khz) / (double)p->clock_max_khz;
	gpu_eval(p, l, limit, x, mem_clock_khz, out);
}

void gpu_init(struct gpu_state *g, const struct gpu_profile *p, int64_t t_ns, uint64_t seed)
{
	memset(g, 0, sizeof(*g));
	g->prof = *p;
	g->seed = seed;
	g->t_ns = g->start_ns = t_ns;
	g->limit_mw = p->limit_def_mw;
	g->ambient_c = p->ambient_c;
	g->eff_limit_mw = 1.2 * (double)p->limit_max_mw;
	g->temp_c = p->ambient_c + p->r_c_per_w * p->idle_mw / 1000;
	g->x_thermal = 1;
	g->now.power_mw = p->idle_mw;
	g->now.clock_khz = (double)p->clock_min_khz;
	g->throttle = GPU_THR_IDLE;
	g->hist[0] = (struct gpu_hist){t_ns, 0};
	g->n_hist = 1;
}

int64_t gpu_limit(const struct gpu_state *g)
{
	return g->clamp_mw > 0 && g->clamp_mw < g->limit_mw ? g->clamp_mw : g->limit_mw;
}

int gpu_clock_count(const struct gpu_profile *p)
{
	if (p->clock_step_khz <= 0 || p->clock_max_khz < p->clock_min_khz)
		return 1;
	return (int)((p->clock_max_khz - p->clock_min_khz) / p->clock_step_khz) + 1;
}

int64_t gpu_clock_nth(const struct gpu_profile *p, int i)
{
	/* NVML speaks whole MHz: a 7.5 MHz grid appears as 7, 8, 7, 8. */
	return (p->clock_min_khz + i * p->clock_step_khz) / 1000 * 1000;
}

int64_t gpu_clock_grid(const struct gpu_profile *p, int64_t khz)
{
	int lo = 0, hi = gpu_clock_count(p) - 1;

	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;

		if (gpu_clock_nth(p, mid) <= khz)
			lo = mid;
		else
			hi = mid - 1;
	}
	return gpu_clock_nth(p, lo);
}

int64_t gpu_mem_clock(const struct gpu_state *g)
{
	if (g->mem_lock_khz > 0)
		return g->mem_lock_khz;
	return g->prof.n_mem_clocks > 0 ? g->prof.mem_clock_khz[0] : 0;
}

int64_t gpu_clock_now(const struct gpu_state *g)
{
	int64_t khz = gpu_clock_grid(&g->prof, (int64_t)(g->now.clock_khz + 1));

	if (!g->busy && g->lock_lo_khz > khz)
		return g->lock_lo_khz;
	return khz;
}

static bool is_active(const struct gpu_load *l)
{
	return l->kind == LOAD_WORK || l->kind == LOAD_COMM ||
	       (l->kind == LOAD_CONST && l->util > 0);
}

/* Highest x the knobs and the temperature allow, and the reasons it is not 1. */
static double clock_ceiling(const struct gpu_state *g, const struct gpu_load *l, unsigned *reasons)
{
	const struct gpu_profile *p = &g->prof;
	double x = 1;

	*reasons = l->kind == LOAD_IDLE ? GPU_THR_IDLE : 0;
	if (g->lock_hi_khz > 0 && g->lock_hi_khz < p->clock_max_khz) {
		x = (double)g->lock_hi_khz / (double)p->clock_max_khz;
		*reasons |= GPU_THR_CLOCK_SET;
	}
	if (g->x_thermal < x) {
		x = g->x_thermal;
		*reasons |= GPU_THR_THERMAL_SW;
	}
	if (g->temp_c > p->hw_slow_c && x > 0.5) {
		x = 0.5;
		*reasons |= GPU_THR_THERMAL_HW;
	}
	if (g->brake && x > 0.5) {
		x = 0.5;
		*reasons |= GPU_THR_BRAKE;
	}
	return x;
}

static void remember(struct gpu_state *g)
{
	struct gpu_hist *last = &g->hist[(g->n_hist - 1) % GPU_HIST];

	if (last->t_ns == g->t_ns)
		return;
	g->hist[g->n_hist++ % GPU_HIST] = (struct gpu_hist){g->t_ns, g->energy_uj};
}

/* Where the controller's limit is heading: the cap while it binds; with head room otherwise, so
 * that the next burst overshoots as it does on real boards. */
static double limit_target(const struct gpu_state *g, const struct gpu_load *l, double x_hi)
{
	const struct gpu_profile *p = &g->prof;
	double cap = (double)gpu_limit(g), peak;

	if (l->kind != LOAD_WORK)
		return 1.2 * (double)p->limit_max_mw;
	peak = static_power(p, mem_ratio(p, g->mem_lock_khz)) +
	       l->dyn_mw * (1 + clampd(l->spread, 0, 1)) * shape(p, x_hi);
	return peak > cap ? cap : 1.2 * (double)p->limit_max_mw;
}

/* How long the present point may be held: until a change of the controller, of the temperature
 * control, or the end. */
static int64_t tick_length(const struct gpu_state *g, int64_t left, bool settling, double t_inf)
{
	const struct gpu_profile *p = &g->prof;
	int64_t dt = left;

	if (settling && p->cap_lag_ns / 4 < dt)
		dt = p->cap_lag_ns / 4;
	if (g->x_thermal < 1 || (t_inf > p->slow_c && p->thermal_ns > 0)) {
		int64_t tick = left / 2000 > 100000000 ? left / 2000 : 100000000;

		if (tick < dt)
			dt = tick;
	}
	return dt > 0 ? dt : 1;
}

static void tick_thermal(struct gpu_state *g, double dt_ns, double t_inf)
{
	const struct gpu_profile *p = &g->prof;

	if (p->thermal_ns > 0)
		g->temp_c = t_inf + (g->temp_c - t_inf) * exp(-dt_ns / (double)p->thermal_ns);
	else
		g->temp_c = t_inf;
	if (g->temp_c > p->slow_c || g->x_thermal < 1)
		g->x_thermal = clampd(g->x_thermal - 0.05 * (g->temp_c - p->slow_c) * dt_ns / NS_S,
			p->cap_floor, 1);
}

int64_t gpu_advance_work(
	struct gpu_state *g, int64_t t_ns, const struct gpu_load *l, double work_target)
{
	const struct gpu_profile *p = &g->prof;

	while (g->t_ns < t_ns && (l->kind != LOAD_WORK || g->work < work_target)) {
		unsigned reasons;
		double x = clock_ceiling(g, l, &reasons), target = limit_target(g, l, x);
		bool settling = fabs(g->eff_limit_mw - target) > 0.001 * target;
		double old_power = g->now.power_mw, t_inf;
		bool done = false;
		int64_t ticks;

		if (!settling)
			g->eff_limit_mw = target;
		gpu_eval(p, l, g->eff_limit_mw, x, g->mem_lock_khz, &g->now);
		if (l->kind == LOAD_IDLE && g->lock_lo_khz > 0)
			g->now.clock_khz = (double)g->lock_lo_khz;
		t_inf = g->ambient_c + p->r_c_per_w * g->now.power_mw / 1000;
		ticks = tick_length(g, t_ns - g->t_ns, settling, t_inf);
		if (l->kind == LOAD_WORK && g->now.rate > 0) {
			double need = (work_target - g->work) / g->now.rate * NS_S;

			if (need <= (double)ticks) {
				/* At least 1 ns, so that every step moves time. */
				ticks = need > 1 ? (int64_t)ceil(need) : 1;
				done = true;
			}
		}
		if (g->now.power_mw != old_power)
			remember(g);
		g->work = done ? work_target : g->work + g->now.rate * (double)ticks / NS_S;
		g->energy_uj += g->now.power_mw * (double)ticks / 1e6;
		g->t_ns += ticks;
		if (settling)
			g->eff_limit_mw =
				target + (g->eff_limit_mw - target) *
						 exp(-(double)ticks / (double)p->cap_lag_ns);
		g->busy = is_active(l);
		g->throttle = reasons | (g->now.capped > 0 ? GPU_THR_POWER : 0);
		g->viol_power_ns += g->now.capped * (double)ticks;
		if (reasons & (GPU_THR_THERMAL_SW | GPU_THR_THERMAL_HW))
			g->viol_thermal_ns += (double)ticks;
		if (reasons & (GPU_THR_BRAKE | GPU_THR_THERMAL_HW))
			g->viol_hw_ns += (double)ticks;
		tick_thermal(g, (double)ticks, t_inf);
	}
	return g->t_ns;
}

void gpu_advance(struct gpu_state *g, int64_t t_ns, const struct gpu_load *l)
{
	gpu_advance_work(g, t_ns, l, INFINITY);
}
