/* gpu.h: the physics of one simulated GPU. Pure: data in, data out; no I/O, clock, allocation or
 * globals, so that it serves the cluster simulator in virtual time and the NVML look-alike in
 * real time. It shares nothing with src/model: a law fitted to simulated data must not be
 * testing itself.
 *
 * What it models (DESIGN §3, MEASURING.md):
 *  - Clock and power. x = clock / max clock; voltage is flat (v_floor) below x_knee and linear to 1
 *    above; dynamic power goes as x·v(x)², on top of a static draw while kernels run.
 *  - Time. A step has a share that waits for the host, and kernel time of which one share
 *    scales with 1/x, one with 1/memory clock, the rest with neither.
 *  - Kernels of one step differ: their dynamic power is spread uniformly by ±spread about its mean.
 *    The cap acts on each of them, so mean power stays below the cap and peaks are
 *    clipped first; that is why real time curves bend gently where the cap begins to bite.
 *  - The cap controller holds an effective limit that follows the cap with a lag: a load that
 *    begins overshoots for that long. It cannot go below cap_floor: low caps are overshot.
 *  - Temperature: one thermal resistance and time constant; above `slow` the clock is reduced
 *    until it holds, above `hw_slow` it is halved.
 *  - Sensors see windows of past power, refreshed at their own period; the counter too.
 *
 * A struct gpu_state holds no pointer: it may lie in memory shared by processes. The caller owns
 * it and serialises writers. Times are monotonic ns; a state never goes back in time.
 */
#ifndef WATTLAW_SIM_GPU_H
#define WATTLAW_SIM_GPU_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_MEM_CLOCKS 8
#define GPU_HIST       320
#define GPU_LEVELS     8

enum gpu_power_kind { GPU_POWER_INSTANT, GPU_POWER_AVERAGE };

struct gpu_profile {
	char name[32]; /* "v100-pcie-32gb" */
	char model[64]; /* as NVML names it */
	int cc_major, cc_minor, cores, sms;
	int64_t mem_bytes;
	/* clocks: the grid is min + round(k·step) up to max */
	int64_t clock_min_khz, clock_max_khz, clock_step_khz;
	int64_t mem_clock_khz[GPU_MEM_CLOCKS]; /* descending; [0] is the default */
	int n_mem_clocks;
	/* power */
	double idle_mw; /* nobody has a context */
	double wait_mw; /* clocks up, no kernel running */
	double static_mw; /* while kernels run, before any dynamic power */
	double mem_mw; /* part of static_mw that scales with the memory clock */
	double v_floor, x_knee;
	int64_t limit_min_mw, limit_max_mw, limit_def_mw;
	double cap_floor; /* lowest x the cap controller goes to */
	int64_t cap_lag_ns;
	/* thermal: degrees C, degrees per W, ns */
	double ambient_c, r_c_per_w, slow_c, hw_slow_c, shutdown_c;
	int64_t thermal_ns;
	/* sensors */
	enum gpu_power_kind power_kind;
	int64_t power_refresh_ns, power_window_ns;
	int64_t average_window_ns; /* of the averaged reading; 0 = this generation has none */
	int64_t counter_refresh_ns; /* 0 = no energy counter */
	double gain; /* of the board's sensor: reading / truth */
	double noise; /* standard deviation of a power reading, relative */
	/* for carrying a workload over from another device: dense throughput and memory bandwidth
	 */
	double tflops, gbytes_s;
	bool mig;
};

enum gpu_load_kind {
	LOAD_IDLE,
	LOAD_WAIT, /* a context, no kernels: waiting for data or for other ranks */
	LOAD_COMM, /* all-reduce: a little dynamic power, no progress */
	LOAD_CONST, /* draws const_mw whatever the knobs say */
	LOAD_WORK
};

/* What runs on the device. Shares are of the step at full clock and no cap. */
struct gpu_load {
	enum gpu_load_kind kind;
	double const_mw;
	double step_s; /* seconds a step at max clock, no cap */
	double host_share; /* of step_s: waiting for the host */
	double clock_share; /* of kernel time: scales with 1/x */
	double mem_share; /* of kernel time: scales with 1/memory clock */
	double dyn_mw; /* mean dynamic power of kernels at full clock */
	double spread; /* kernels' dynamic power is uniform in dyn·(1 ± spread), 0…1 */
	double util; /* 0 = derived from host_share */
};

/* The device at one instant, or in steady state. */
struct gpu_point {
	double power_mw; /* mean over a step */
	double clock_khz; /* mean while kernels run */
	double rate; /* steps a second */
	double util, mem_util; /* 0…1 */
	double capped; /* share of time in which the power limit holds the clock down */
};

enum gpu_throttle {
	GPU_THR_IDLE = 1,
	GPU_THR_CLOCK_SET = 2,
	GPU_THR_POWER = 4,
	GPU_THR_THERMAL_SW = 8,
	GPU_THR_THERMAL_HW = 16,
	GPU_THR_BRAKE = 32
};

struct gpu_hist {
	int64_t t_ns;
	double energy_uj; /* at t_ns; linear to the next entry */
};

struct gpu_state {
	struct gpu_profile prof;
	uint64_t seed; /* of the sensor's noise and phase */
	int64_t t_ns, start_ns;
	/* knobs */
	int64_t limit_mw; /* as set */
	int64_t clamp_mw; /* something else enforces at most this; 0 = nothing */
	int64_t lock_lo_khz, lock_hi_khz; /* 0 = unlocked */
	int64_t mem_lock_khz; /* 0 = default */
	bool brake; /* external power brake asserted */
	double ambient_c;
	/* what evolves */
	double energy_uj, work; /* work in steps */
	double eff_limit_mw; /* the cap controller's present limit */
	double temp_c, x_thermal;
	double viol_power_ns, viol_thermal_ns, viol_hw_ns;
	struct gpu_point now;
	unsigned throttle; /* enum gpu_throttle */
	bool busy;
	/* counter: value = (energy - base)·gain, modulo wrap */
	double counter_base_uj;
	struct gpu_hist hist[GPU_HIST];
	uint32_t n_hist; /* entries ever written; entry i at hist[i % GPU_HIST] */
};

/* Cold, idle, default knobs at t_ns. */
void gpu_init(struct gpu_state *g, const struct gpu_profile *p, int64_t t_ns, uint64_t seed);

/* The device under that load when its kernels may run at up to x_hi of the max clock and draw up
 * to limit_mw. Used by everything below and by the cluster simulator. */
void gpu_eval(const struct gpu_profile *p, const struct gpu_load *l, double limit_mw, double x_hi,
	int64_t mem_clock_khz, struct gpu_point *out);

/* The limit that a device computes under when it is busy for that share of each step: the cap acts
 * on the mean, because waiting is spread over the step in pieces shorter than the controller's
 * window. So what is not drawn while waiting is left for computing. */
double gpu_computing_limit(const struct gpu_profile *p, double limit_mw, double busy);

/* The device when each step takes at least step_floor_s because something else (loader, wire,
 * another board) paces it: it waits the rest at waiting power, and gpu_computing_limit holds.
 * rate is then that of the whole step; *compute_s (may be NULL) gets the part spent computing. */
void gpu_paced(const struct gpu_profile *p, const struct gpu_load *l, double limit_mw, double x_hi,
	int64_t mem_clock_khz, double step_floor_s, struct gpu_point *out, double *compute_s);

/* Steady state (cap reached, no thermal limit) with this power limit and clock lock; 0 = default.
 */
void gpu_steady(const struct gpu_profile *p, const struct gpu_load *l, int64_t limit_mw,
	int64_t clock_max_khz, int64_t mem_clock_khz, struct gpu_point *out);

/* Carry the device to t_ns under a load that does not change meanwhile. */
void gpu_advance(struct gpu_state *g, int64_t t_ns, const struct gpu_load *l);
/* The same, but stop when g->work reaches work_target. Returns the time it stopped: t_ns, or the
 * moment the work was done. */
int64_t gpu_advance_work(
	struct gpu_state *g, int64_t t_ns, const struct gpu_load *l, double work_target);

/* Knobs, with the device's own rules. They act from g->t_ns on. */
int64_t gpu_limit(const struct gpu_state *g); /* enforced: min of limit and clamp, mW */
int64_t gpu_clock_grid(
	const struct gpu_profile *p, int64_t khz); /* nearest supported, at or below */
int gpu_clock_count(const struct gpu_profile *p);
int64_t gpu_clock_nth(const struct gpu_profile *p, int i); /* ascending */
int64_t gpu_mem_clock(const struct gpu_state *g);
int64_t gpu_clock_now(const struct gpu_state *g);

/* Sensors at g->t_ns. gpu_energy_at interpolates the true energy at a past time. */
enum gpu_reading { GPU_READ_DEFAULT, GPU_READ_AVERAGE, GPU_READ_INSTANT };
bool gpu_read_power(const struct gpu_state *g, enum gpu_reading kind, int64_t *mw);
bool gpu_read_counter(const struct gpu_state *g, double *uj);
double gpu_energy_at(const struct gpu_state *g, int64_t t_ns);
/* The counter starts again from 0 now (driver reload). */
void gpu_counter_reset(struct gpu_state *g);

#endif
