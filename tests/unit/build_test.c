/* From samples and marks to a record, on made-up launches whose truth is known. */
#include <sys/resource.h>
#include "base/clock.h"
#include "base/mem.h"
#include "measure/record_build.h"
#include "measure/track.h"
#include "tap.h"

#define MS NS_PER_MS
#define S  NS_PER_S

static struct device gpu(const char *key)
{
	struct device d = {.kind = DEV_GPU,
		.parent = -1,
		.counted = true,
		.max_power_mw = 400000,
		.refresh_ns = 20 * MS,
		.power_kind = POWER_KIND_INSTANT,
		.channels = 1u << CH_ENERGY | 1u << CH_POWER | 1u << CH_CLOCK | 1u << CH_UTIL |
			    1u << CH_TEMP | 1u << CH_THROTTLE | 1u << CH_VIOL_THERMAL};

	snprintf(d.key, sizeof(d.key), "%s", key);
	snprintf(d.name, sizeof(d.name), "V100 %s", key);
	return d;
}

static struct build *fresh(void)
{
	struct build_config cfg = {.host = "n1", .period_ns = 100 * MS};
	struct build *b;

	if (build_new(&cfg, &b) != ST_OK)
		abort();
	return b;
}

static void sample(struct build *b, int dev, enum channel ch, int64_t t, int64_t v, enum status st)
{
	struct tagged_sample s = {
		.device = dev, .channel = ch, .s = {.value = v, .t_ns = t, .st = st}};

	build_sample(b, &s);
}

/* Idle at 25 W until 10 s, the job at `mw` until 70 s, idle again. */
static int64_t energy_at(int64_t t, int64_t mw)
{
	int64_t idle = t < 10 * S ? t : t < 70 * S ? 10 * S : t - 60 * S;
	int64_t busy = t < 10 * S ? 0 : t < 70 * S ? t - 10 * S : 60 * S;

	return idle / 1000 * 25 / 1 + busy / 1000000 * mw; /* 25 W = 25 uJ/us; mw uJ/ms */
}

static void feed_gpu(struct build *b, int dev, int64_t mw, int64_t util_before)
{
	for (int64_t t = 100 * MS; t < 72 * S; t += 100 * MS) {
		bool busy = t >= 10 * S && t < 70 * S;

		sample(b, dev, CH_ENERGY, t, energy_at(t, mw), ST_OK);
		sample(b, dev, CH_POWER, t, busy ? mw : 25000, ST_OK);
		sample(b, dev, CH_CLOCK, t, busy ? 1380000 - (t > 40 * S ? 100000 : 0) : 135000,
			ST_OK);
		sample(b, dev, CH_UTIL, t, busy ? 950000 : util_before, ST_OK);
		if (t % S == 0)
			sample(b, dev, CH_TEMP, t, busy ? 60000 + t / S * 100 : 35000, ST_OK);
		sample(b, dev, CH_THROTTLE, t, busy ? THROTTLE_POWER_CAP : THROTTLE_IDLE, ST_OK);
	}
}

static struct mark_rank ranks[2];

static void mark(
	struct build *b, int rank, enum mark_kind kind, int64_t t, uint64_t value, const char *text)
{
	struct mark_rank *r = &ranks[rank];
	struct mark_event ev = {.t_ns = (uint64_t)t, .value = value};

	r->pid = 100 + rank;
	r->rank = rank;
	r->n_ranks = 2;
	r->batch_per_rank = 32;
	r->global_batch = 64;
	r->gradient_bytes = 1000;
	if (kind == MARK_STEP)
		r->steps++;
	ev.kind = (uint64_t)kind | r->steps << 8;
	snprintf(ev.text, sizeof(ev.text), "%s", text);
	build_mark(b, r, &ev);
}

/* Start-up until 15 s, 10 slow steps of 500 ms, then 490 of 100 ms until 69 s; rank 1 is a little
 * slower. */
static void feed_marks(struct build *b)
{
	memset(ranks, 0, sizeof(ranks));
	for (int rank = 1; rank >= 0; rank--) {
		int64_t t = 15 * S, slow = rank ? 1 * MS : 0;
		double loss = 4.0;
		uint64_t bits;

		mark(b, rank, MARK_PHASE_BEGIN, t, 1, "train");
		for (int i = 0; i < 500; i++) {
			t += (i < 10 ? 500 * MS : 100 * MS) + slow;
			mark(b, rank, MARK_STEP, t, 32, "");
			memcpy(&bits, &loss, sizeof(bits));
			if (i % 100 == 0)
				mark(b, rank, MARK_LOSS, t, bits, "");
			loss *= 0.99;
		}
		mark(b, rank, MARK_EPOCH, t, 1, "");
		mark(b, rank, MARK_PHASE_END, t, 1, "train");
	}
}

static struct run_rec rec;

static void record(struct build *b, struct build_window w)
{
	struct err e = ERR_INIT;

	run_rec_release(&rec);
	run_rec_init(&rec);
	rec.state = RUN_DONE;
	if (build_record(b, &w, &rec, &e) != ST_OK) {
		printf("Bail out! %s\n", e.msg);
		exit(1);
	}
}

static bool warned(const char *part)
{
	for (size_t i = 0; i < rec.n_warnings; i++)
		if (strstr(rec.warnings[i], part))
			return true;
	return false;
}

static const struct phase_rec *phase(const char *name)
{
	for (size_t i = 0; i < rec.n_phases; i++)
		if (!strcmp(rec.phases[i].name, name))
			return &rec.phases[i];
	return NULL;
}

static void whole_run(void)
{
	struct build *b = fresh();
	struct device d0 = gpu("GPU-0"), d1 = gpu("GPU-1"), child = gpu("MIG-0");
	const struct phase_rec *p;
	const struct dev_rec *d;

	child.counted = false;
	build_device(b, &d0, true, -1);
	build_device(b, &d1, true, -1);
	build_device(b, &child, true, 0);
	build_knob(b, 0, KNOB_POWER_LIMIT, QTY(250000), QTY(200000), QTY(200000));
	build_idle(b, S, 10 * S);
	feed_gpu(b, 0, 200000, 0);
	feed_gpu(b, 1, 100000, 400000);
	for (int64_t t = 100 * MS; t < 72 * S; t += 100 * MS)
		sample(b, 2, CH_ENERGY, t, energy_at(t, 200000), ST_OK);
	feed_marks(b);
	build_warn(b, "a word of %s", "warning");
	build_warn(b, "a word of %s", "warning");
	record(b,
		(struct build_window){
			.t0_ns = 10 * S, .t1_ns = 70 * S, .warmup_steps = 10, .keep_series = true});

	is_str(rec.host, "n1", "the host");
	is_int(rec.wall_ns.v, 60 * S, "the wall time is the window");
	is_int((long long)rec.n_devs, 3, "every selected device is listed");
	d = &rec.devs[0];
	is_near((double)d->energy_uj.v, 12e9, 6e6, "200 W for 60 s");
	is_near((double)d->mean_mw.v, 2e5, 100, "at a mean of 200 W");
	is_near((double)d->idle_mw.v, 25000, 30, "idle at 25 W before");
	is_near((double)d->net_uj.v, 10.5e9, 1e7, "net of idle: (200 - 25) W for 60 s");
	is_int(d->temp_max_mdegc.v, 66900, "hottest");
	is_int(d->throttle_power_cap_ppm.v / 1000, 1000, "in the power cap all the time");
	is_int(rec.state, RUN_DONE, "which is expected and disturbs nothing (R62)");
	has(d->note, "energy counter", "the source is named");
	has(d->note, "power: instant", "and the kind of power");
	ok(d->n_knobs == 1 && d->knobs[0].requested.v == 200000 && d->knobs[0].found.v == 250000,
		"the knob is recorded");
	is_near((double)d->clock_khz.v, 1380000 - 100000.0 * 29 / 49, 2500,
		"the clock is the mean of the steady window");
	ok(rec.devs[1].idle_mw.st != ST_OK && rec.devs[1].net_uj.st != ST_OK,
		"a device that was busy before has no idle power (R22)");
	ok(warned("GPU-1 was 40 % busy before the job"), "and that is said");
	ok(!rec.devs[2].counted && rec.devs[2].parent && !strcmp(rec.devs[2].parent, "GPU-0"),
		"a MIG instance is not counted beside its parent (R29)");
	is_near((double)rec.energy_uj.v, 18e9, 1e7, "the total counts each board once");
	ok(rec.net_uj.st != ST_OK, "net is unknown when one device's is");

	is_int(rec.train.steps.v, 500, "steps of rank 0");
	is_int(rec.train.samples.v, 500 * 64, "samples of all ranks");
	is_int(rec.train.n_ranks, 2, "two ranks");
	is_int(rec.train.global_batch.v, 64, "global batch");
	is_int(rec.train.window_steps.v, 490, "the steady window leaves the warm-up steps out");
	is_near((double)rec.train.window_ns.v / (double)rec.train.window_steps.v, 101e6, 1e3,
		"elapsed over steps of the slowest rank");
	is_near((double)rec.train.window_samples.v, 64 * 490 * 1.005, 40,
		"samples of all ranks in it");
	is_near((double)rec.train.step_median_ns.v, 101e6, 1, "median");
	ok(rec.train.steady && rec.train.from_marks, "steady, from marks");
	ok(rec.train.has_loss && rec.train.loss_first == 4.0 && rec.train.loss_last < 0.1,
		"first and last loss");
	is_int(rec.train.epochs.v, 1, "epochs are counted once, not by every rank");

	p = phase("warmup");
	ok(p && p->start_ns == 0 && p->end_ns > 9 * S && p->end_ns < 11 * S,
		"warm-up runs from the start to the steady window");
	p = phase("steady");
	is_near(p ? (double)p->energy_uj.v / (double)(p->end_ns - p->start_ns) * 1e6 : 0, 3e5, 300,
		"energy of the steady phase apart (R21)");
	is_int(p ? p->steps : -1, 490, "with its steps");
	ok(phase("tail") && phase("tail")->end_ns == 60 * S, "the tail runs to the end");
	p = phase("train");
	ok(p && p->start_ns == 5 * S, "the job's own phase, once though both ranks told it");
	ok(warned("a word of warning") && rec.n_warnings == 2, "warnings are passed on, once");
	ok(rec.n_samples > 100 && rec.n_samples <= BUILD_SERIES, "the series is kept");
	ok(rec.n_marks > 100, "and marks");
	bool inside = true;
	for (size_t i = 0; i < rec.n_samples; i++)
		inside &= rec.samples[i].t_ns >= 0 && rec.samples[i].t_ns <= 60 * S &&
			  rec.samples[i].dev < 3;
	ok(inside, "with times since the start of the window");

	/* settings stepped inside the launch: any window, any number of times */
	record(b, (struct build_window){.t0_ns = 30 * S, .t1_ns = 40 * S});
	is_near((double)rec.energy_uj.v, 3e9, 6e6, "a window of 10 s: 3000 J");
	is_near((double)rec.train.steps.v, 100, 1.01, "its steps");
	is_near((double)rec.train.window_ns.v / (double)rec.train.window_steps.v, 101e6, 1e3,
		"its time per step");
	is_int(rec.train.has_loss, 1, "its losses");
	is_int((long long)rec.n_samples, 0, "no series unless asked");
	struct step_stats st;
	build_steps(b, 30 * S, 40 * S, &st);
	is_near(st.mean_ns, 101e6, 1e3, "a stepping executor sees the same");
	is_near((double)build_energy(b, 30 * S, 40 * S).v, 3e9, 6e6, "and the energy so far");
	build_free(b);
}

static void disturbed(void)
{
	struct build *b = fresh();
	struct device d = gpu("GPU-0");

	d.channels |= UINT64_C(1) << CH_VIOL_THERMAL;
	build_device(b, &d, true, -1);
	feed_gpu(b, 0, 200000, 0);
	for (int64_t t = S; t < 72 * S; t += S)
		sample(b, 0, CH_VIOL_THERMAL, t, (t - S) / 20, ST_OK);
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = 70 * S});
	is_near((double)rec.devs[0].throttle_thermal_ppm.v, 50000, 1000,
		"5 % thermal, from the driver's own clock (R63)");
	is_int(rec.state, RUN_DISTURBED, "spoils the run");
	ok(warned("thermal throttling for 5.0 %"), "and is said");
	is_int(rec.train.steps.st, ST_UNKNOWN, "without marks steps are unknown, not 0");
	is_int((long long)rec.n_phases, 0, "and there are no phases");
	build_free(b);
}

static void missing_and_lost(void)
{
	struct build *b = fresh();
	struct device d = gpu("GPU-0");

	for (int i = 0; i < 8; i++) {
		snprintf(d.key, sizeof(d.key), "GPU-%d", i);
		build_device(b, &d, true, -1);
	}
	for (int i = 0; i < 8; i++)
		for (int64_t t = 100 * MS; t < 72 * S; t += 100 * MS)
			sample(b, i, CH_ENERGY, t, energy_at(t, 200000),
				i == 3 && t > 40 * S ? ST_LOST : ST_OK);
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = 70 * S});
	is_int(rec.state, RUN_PARTIAL, "one GPU of eight lost: partial (R33)");
	is_int(rec.devs[3].st, ST_LOST, "the lost one says so");
	is_near((double)rec.devs[3].energy_uj.v, 6e9, 5e7, "its energy to that time is kept");
	is_near((double)rec.devs[4].energy_uj.v, 12e9, 6e6, "the others are right");
	is_int(rec.energy_uj.st, ST_PARTIAL, "the total is partial");
	is_near((double)rec.energy_uj.v, 90e9, 2e8, "and holds what is known");
	build_free(b);

	b = fresh();
	snprintf(d.why_not, sizeof(d.why_not), "energy counter and power are not supported");
	build_device(b, &d, true, -1);
	for (int64_t t = 100 * MS; t < 72 * S; t += 100 * MS) {
		sample(b, 0, CH_ENERGY, t, 0, ST_UNSUPPORTED);
		sample(b, 0, CH_POWER, t, 0, ST_UNSUPPORTED);
	}
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = 70 * S});
	ok(rec.energy_uj.st != ST_OK && rec.method == ENERGY_NONE,
		"nothing supported: energy is unknown (R3)");
	has(rec.energy_note, "not supported", "with the reason");
	build_free(b);
}

static void without_marks(void)
{
	struct build *b = fresh();

	/* --progress: a line each ten steps */
	for (int i = 1; i <= 200; i++)
		build_progress(b, 10 * S + i * 2 * S / 10, (uint64_t)i * 10, 320);
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = 60 * S, .warmup_ns = 5 * S});
	ok(!rec.train.from_marks, "steps from the job's output are no marks");
	is_int(rec.train.steps.v, 2000, "its steps");
	is_near((double)rec.train.window_ns.v / (double)rec.train.window_steps.v, 20e6, 1,
		"20 ms a step");
	is_near((double)rec.train.step_median_ns.v, 20e6, 1,
		"a line of ten steps tells of their mean");
	is_int(rec.train.samples.v, 64000, "its samples");
	build_free(b);
}

static void long_launch(void)
{
	struct build *b = fresh();
	int64_t t = 10 * S;

	memset(ranks, 0, sizeof(ranks));
	for (int i = 0; i < 1000000; i++)
		mark(b, 0, MARK_STEP, t += 5 * MS, 8, "");
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = t + S, .warmup_steps = 100});
	is_int(rec.train.steps.v, 1000000, "a million steps are counted exactly");
	is_near((double)rec.train.window_ns.v / (double)rec.train.window_steps.v, 5e6, 1e-3,
		"time per step stays exact");
	ok(rec.train.window_steps.v > 999000, "over nearly all of them");
	is_near((double)rec.train.window_samples.v / (double)rec.train.window_steps.v, 8, 1e-3,
		"and samples");
	build_free(b);
}

static void restarted_program(void)
{
	struct build *b = fresh();
	int64_t t = 10 * S;

	memset(ranks, 0, sizeof(ranks));
	for (int i = 0; i < 50; i++)
		mark(b, 0, MARK_STEP, t += 100 * MS, 1, "");
	ranks[0].steps = 0; /* exec: the same pid counts from one again */
	for (int i = 0; i < 50; i++)
		mark(b, 0, MARK_STEP, t += 100 * MS, 1, "");
	record(b, (struct build_window){.t0_ns = 10 * S, .t1_ns = t});
	is_int(rec.train.steps.v, 100, "steps of a program that execs itself add up");
	ok(!warned("overwritten"), "and none is thought lost");
	build_free(b);
}

static void tracks(void)
{
	struct track k = {.st = ST_UNKNOWN};
	struct track_stats s;

	track_stats(&k, 0, S, &s);
	ok(s.mean.st == ST_UNKNOWN && track_rate(&k, 0, S).st == ST_UNKNOWN,
		"an empty track knows nothing");
	for (int i = 0; i < 100000; i++)
		track_push(&k, i * 100 * MS, i % 2 ? 300 : 100);
	ok(k.n <= TRACK_MAX, "a long track stays bounded");
	track_stats(&k, 100 * S, 9000 * S, &s);
	ok(s.mean.v >= 95 && s.mean.v <= 305 && s.max.v == 300, "with its extremes");
	track_release(&k);
	k.max_hold_ns = S;
	track_push(&k, S, 10);
	track_push(&k, 10 * S, 10);
	track_stats(&k, 0, 20 * S, &s);
	is_int(s.known_ns, 2 * S, "a value is not believed for ever");
	track_release(&k);
	/* counter: 0, then +2 s in 10 s, restart, +1 s */
	track_push(&k, 0, 0);
	track_push(&k, 10 * S, 2 * S);
	track_push(&k, 20 * S, S);
	is_int(track_rate(&k, 0, 20 * S).v, 150000, "a counter that restarts adds what it shows");
	is_int(track_rate(&k, 0, 5 * S).v, 200000, "part of an interval in proportion");
	track_release(&k);
}

/* 10^6 samples of eight GPUs: memory stops growing, energy stays right. */
static void soak(void)
{
	struct build *b = fresh();
	struct device d = gpu("GPU-0");
	struct rusage half, end;
	size_t n = 0;
	int64_t t = 0;

	for (int i = 0; i < 8; i++)
		build_device(b, &d, true, -1);
	memset(&half, 0, sizeof(half));
	for (t = 100 * MS; n < 1000000; t += 100 * MS)
		for (int i = 0; i < 8; i++) {
			sample(b, i, CH_ENERGY, t, t / 5 + t / 100 % 977, ST_OK);
			sample(b, i, CH_POWER, t, 200000 + t / 100 % 977, ST_OK);
			sample(b, i, CH_CLOCK, t, 1300000 + t / 100 % 977, ST_OK);
			sample(b, i, CH_UTIL, t, 900000 + t / 100 % 977, ST_OK);
			n += 4;
			if (n == 800000)
				getrusage(RUSAGE_SELF, &half);
		}
	getrusage(RUSAGE_SELF, &end);
	ok(end.ru_maxrss - half.ru_maxrss < 8192,
		"a million samples: memory stops growing (%ld KiB in the last fifth)",
		end.ru_maxrss - half.ru_maxrss);
	record(b, (struct build_window){.t0_ns = S, .t1_ns = t - S, .keep_series = true});
	is_near((double)rec.energy_uj.v / (8 * 200.0 * (double)(t - 2 * S) / 1e3), 1, 0.001,
		"and the energy is right");
	ok(rec.n_samples > 1000 && rec.n_samples <= BUILD_SERIES, "with a series that is bounded");
	build_free(b);
}

static void memory(void)
{
	struct build_config cfg = {.host = "n1", .period_ns = 100 * MS};
	unsigned n, bad = 0;

	for (n = 1; n < 2000; n++) {
		struct device d = gpu("GPU-0");
		struct err e = ERR_INIT;
		struct build *b;
		enum status st;

		fault_arm("alloc", n);
		st = build_new(&cfg, &b);
		if (st == ST_OK) {
			st = build_device(b, &d, true, -1);
			if (st == ST_OK) {
				memset(ranks, 0, sizeof(ranks));
				for (int i = 1; i < 30; i++) {
					sample(b, 0, CH_POWER, 10 * S + i * 100 * MS, 100000,
						ST_OK);
					sample(b, 0, CH_CLOCK, 10 * S + i * 100 * MS, i, ST_OK);
					mark(b, 0, MARK_STEP, 10 * S + i * 100 * MS, 1, "");
				}
				build_knob(b, 0, KNOB_POWER_LIMIT, QTY(1), QTY(2), QTY(3));
				mark(b, 0, MARK_PHASE_BEGIN, 14 * S, 1, "x");
				run_rec_release(&rec);
				run_rec_init(&rec);
				st = build_record(b,
					&(struct build_window){.t0_ns = 10 * S,
						.t1_ns = 15 * S,
						.keep_series = true},
					&rec, &e);
			}
			build_free(b);
		}
		if (!fault_fired())
			break;
		bad += st != ST_OK && st != ST_NOMEM;
		/* a record that was made all the same says that something is missing */
		bad += st == ST_OK && rec.train.steps.v == 29 && !rec.n_devs;
	}
	fault_arm("alloc", 0);
	ok(n > 20 && n < 2000 && !bad,
		"every failing allocation is survived and reported (%u of them)", n - 1);
}

int main(void)
{
	run_rec_init(&rec);
	whole_run();
	disturbed();
	missing_and_lost();
	without_marks();
	long_launch();
	restarted_program();
	tracks();
	soak();
	memory();
	run_rec_release(&rec);
	return tap_done();
}
