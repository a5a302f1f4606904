/* The sampling thread, on a stand-in for hw.h: devices whose answers and delays the test decides.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/mem.h"
#include "measure/sampler.h"
#include "tap.h"

#define BIT(ch) (UINT64_C(1) << (ch))

struct hw {
	size_t n;
	struct device dev[16];
	enum status answer[16][CH_COUNT];
	atomic_int reads[16];
	sem_t *block; /* a read waits here */
	atomic_bool blocked;
};

size_t hw_n_devices(const struct hw *hw)
{
	return hw->n;
}

const struct device *hw_device(const struct hw *hw, size_t id)
{
	return &hw->dev[id];
}

enum status hw_read(struct hw *hw, size_t id, uint64_t channels, struct sample *out)
{
	struct clock *c = clock_system();

	if (hw->block) {
		atomic_store(&hw->blocked, true);
		sem_wait(hw->block);
	}
	atomic_fetch_add(&hw->reads[id], 1);
	for (int ch = 0; ch < CH_COUNT; ch++)
		out[ch] = channels & BIT(ch) ? (struct sample){(int64_t)id * 100 + ch, c->now(c),
						       hw->answer[id][ch]}
					     : (struct sample){0, 0, ST_UNKNOWN};
	return ST_OK;
}

static void devices(struct hw *hw, size_t n, uint64_t channels)
{
	memset(hw, 0, sizeof(*hw));
	hw->n = n;
	for (size_t i = 0; i < n; i++)
		hw->dev[i].channels = channels;
}

static struct sampler *start(struct hw *hw, int64_t period_ns, const bool *selected)
{
	struct sampler_config cfg = {
		.period_ns = period_ns, .n = hw->n, .selected = selected, .slow_every = 5};
	struct err e = ERR_INIT;
	struct sampler *s;

	if (sampler_start(hw, &cfg, &s, &e) != ST_OK) {
		printf("# %s\n", e.msg);
		return NULL;
	}
	return s;
}

static struct tagged_sample buf[1 << 16];

/* Drain until at least n samples of that channel of device 0 came, or 5 s passed. */
static size_t gather(struct sampler *s, int channel, size_t n)
{
	size_t have = 0, of = 0;

	for (int i = 0; i < 5000 && of < n; i++) {
		size_t got = sampler_drain(s, buf + have, sizeof(buf) / sizeof(buf[0]) - have);

		for (size_t j = have; j < have + got; j++)
			of += buf[j].channel == channel && buf[j].device == 0;
		have += got;
		usleep(1000);
	}
	return have;
}

static void keeps_time(void)
{
	static struct hw hw;
	struct sampler *s;
	int64_t first = 0, worst = 0;
	size_t n, power = 0, temp = 0, wrong = 0;

	devices(&hw, 3, BIT(CH_POWER) | BIT(CH_TEMP));
	s = start(&hw, 10 * NS_PER_MS, (const bool[]){true, false, true});
	n = gather(s, CH_POWER, 51);
	for (size_t i = 0; i < n; i++) {
		wrong += buf[i].device == 1 ||
			 buf[i].s.value != buf[i].device * 100 + buf[i].channel;
		temp += buf[i].device == 0 && buf[i].channel == CH_TEMP;
		if (buf[i].device || buf[i].channel != CH_POWER)
			continue;
		if (!power++)
			first = buf[i].s.t_ns;
		int64_t phase = (buf[i].s.t_ns - first) % (10 * NS_PER_MS);
		if (phase < 9 * NS_PER_MS && phase > worst)
			worst = phase;
	}
	ok(power >= 51, "a tick each period");
	is_int((long long)wrong, 0, "values belong to their device; one not selected is not read");
	ok(temp >= 10 && temp <= power / 5 + 2, "slow channels come each slow_every ticks");
	ok(sampler_beat_ns(s) > first, "the beat is young");
	is_int((long long)sampler_lost(s), 0, "nothing lost");
	is_int(sampler_stop(s, NS_PER_S), ST_OK, "and stops when told");
	printf("# worst lateness against the absolute grid: %.2f ms\n", (double)worst / 1e6);
}

static void keeps_deadlines_absolute(void)
{
	static struct hw hw;
	struct clock *c = clock_system();
	struct sampler *s;
	int64_t t;
	size_t n, reads;

	devices(&hw, 1, BIT(CH_POWER));
	t = c->now(c);
	s = start(&hw, 5 * NS_PER_MS, NULL);
	n = gather(s, CH_POWER, 100);
	t = c->now(c) - t;
	reads = n + sampler_missed(s);
	ok((double)reads >= (double)t / (5.0 * 1e6) - 5 &&
			(double)reads <= (double)t / (5.0 * 1e6) + 5,
		"reads and missed deadlines together follow the clock: no drift");
	sampler_stop(s, NS_PER_S);
}

static void kick(void)
{
	static struct hw hw;
	struct clock *c = clock_system();
	struct sampler *s;
	int64_t t;
	size_t n;

	devices(&hw, 1, BIT(CH_POWER) | BIT(CH_TEMP));
	s = start(&hw, 3600 * NS_PER_S, NULL);
	gather(s, CH_POWER, 1);
	t = c->now(c);
	sampler_kick(s);
	n = gather(s, CH_TEMP, 1);
	is_int((long long)n, 2, "a kick reads every channel once");
	ok(c->now(c) - t < 2 * NS_PER_S, "without waiting for the deadline");
	t = c->now(c);
	is_int(sampler_stop(s, 5 * NS_PER_S), ST_OK, "stopping ends a long sleep");
	ok(c->now(c) - t < 2 * NS_PER_S, "at once");
}

static void edges(void)
{
	static struct hw hw;
	struct sampler_config cfg = {
		.period_ns = 3600 * NS_PER_S, .n = 2, .edge_ns = SAMPLER_EDGE_NS};
	struct err e = ERR_INIT;
	struct sampler *s;
	size_t n, energy[2] = {0}, power[2] = {0}, late = 0;
	int64_t first = 0;

	/* Device 0 has a counter that never moves here, device 1 has none. */
	devices(&hw, 2, BIT(CH_POWER));
	hw.dev[0].channels |= BIT(CH_ENERGY);
	hw.dev[0].refresh_ns = 100 * NS_PER_MS;
	sampler_start(&hw, &cfg, &s, &e);
	usleep(1300000);
	n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]));
	for (size_t i = 0; i < n; i++) {
		first = first ? first : buf[i].s.t_ns;
		energy[buf[i].device] += buf[i].channel == CH_ENERGY;
		power[buf[i].device] += buf[i].channel == CH_POWER;
		late += buf[i].s.t_ns - first > SAMPLER_EDGE_NS + 100 * NS_PER_MS;
	}
	ok(energy[0] > 20 && energy[0] <= 202,
		"at an edge a counter is read every 5 ms (%zu times)", energy[0]);
	ok(power[0] == 1 && power[1] == 1, "nothing else is");
	ok(!energy[1] && !late, "nor any longer than a second");
	sampler_stop(s, NS_PER_S);
}

static void power_alone_is_read_finely(void)
{
	static struct hw hw;
	struct sampler_config cfg = {.period_ns = NS_PER_S, .n = 3, .fine_ns = 10 * NS_PER_MS};
	struct err e = ERR_INIT;
	struct sampler *s;
	size_t n, power[3] = {0}, other = 0;

	/* Device 0 tells the power of a moment and nothing else; 1 sums it up; 2 averages. */
	devices(&hw, 3, BIT(CH_POWER) | BIT(CH_UTIL));
	hw.dev[0].power_kind = hw.dev[1].power_kind = POWER_KIND_INSTANT;
	hw.dev[1].channels |= BIT(CH_ENERGY);
	hw.dev[2].power_kind = POWER_KIND_AVERAGE;
	sampler_start(&hw, &cfg, &s, &e);
	usleep(500000);
	n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]));
	for (size_t i = 0; i < n; i++) {
		power[buf[i].device] += buf[i].channel == CH_POWER;
		other += buf[i].channel != CH_POWER;
	}
	ok(power[0] > 20 && power[0] <= 52,
		"power without a counter is read every 10 ms (%zu times)", power[0]);
	ok(power[1] == 1 && power[2] == 1, "not that of a device that sums up or averages");
	is_int((long long)other, 4, "nor other channels");
	sampler_stop(s, NS_PER_S);
	/* a driver that stops telling its energy is such a device from then on */
	hw.answer[1][CH_ENERGY] = ST_UNSUPPORTED;
	cfg.period_ns = 30 * NS_PER_MS;
	sampler_start(&hw, &cfg, &s, &e);
	usleep(600000);
	n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]));
	power[1] = 0;
	for (size_t i = 0; i < n; i++)
		power[1] += buf[i].device == 1 && buf[i].channel == CH_POWER;
	ok(power[1] > 25, "one that stops telling its energy is read so from then on (%zu times)",
		power[1]);
	sampler_stop(s, NS_PER_S);
}

static void deadlines_move_about(void)
{
	double sum = 0;
	int64_t most = 0, least = NS_PER_S, same = 0;

	for (uint64_t k = 0; k < 1000; k++) {
		int64_t d = sampler_dither(k, 100 * NS_PER_MS);

		sum += (double)d / 1000;
		most = d > most ? d : most;
		least = d < least ? d : least;
		same += llabs(d - sampler_dither(k + 1, 100 * NS_PER_MS)) < 10 * NS_PER_MS;
	}
	ok(least >= 0 && most < 50 * NS_PER_MS, "by less than half a period");
	is_near(sum / 1e6, 25, 0.5, "evenly");
	is_int(same, 0, "and never twice alike in a row");
}

static void stalled_driver(void)
{
	static struct hw hw;
	struct clock *c = clock_system();
	struct sampler *s;
	sem_t gate;
	int64_t t, beat;

	devices(&hw, 2, BIT(CH_POWER));
	sem_init(&gate, 0, 0);
	hw.block = &gate;
	s = start(&hw, NS_PER_MS, NULL);
	while (!atomic_load(&hw.blocked))
		usleep(1000);
	beat = sampler_beat_ns(s);
	usleep(30000);
	is_int(sampler_beat_ns(s) - beat, 0, "the beat of a stalled driver grows old");
	t = c->now(c);
	is_int(sampler_stop(s, 50 * NS_PER_MS), ST_TIMEOUT, "stopping a stalled sampler gives up");
	t = c->now(c) - t;
	ok(t >= 49 * NS_PER_MS && t < 2 * NS_PER_S, "after the time it was given");
	for (int i = 0; i < 4; i++)
		sem_post(&gate); /* the call returns at last: the thread frees what is left */
	for (int i = 0; i < 2000 && !atomic_load(&hw.reads[0]); i++)
		usleep(1000);
	usleep(50000);
	ok(atomic_load(&hw.reads[0]) == 1 && !atomic_load(&hw.reads[1]),
		"an abandoned thread asks nothing more");
}

static void nobody_drains(void)
{
	static struct hw hw;
	struct clock_virtual v;
	struct sampler_config cfg = {.period_ns = NS_PER_MS, .n = 1};
	struct err e = ERR_INIT;
	struct sampler *s;
	size_t n;
	int64_t last = 0;
	bool ordered = true;

	devices(&hw, 1, BIT(CH_POWER));
	clock_virtual_init(&v, 0);
	cfg.clock = &v.clock;
	sampler_start(&hw, &cfg, &s, &e);
	while (!sampler_lost(s))
		usleep(1000);
	n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]));
	for (size_t i = 0; i < n; i++) {
		ordered &= buf[i].s.t_ns >= last;
		last = buf[i].s.t_ns;
	}
	ok(n >= 30000, "the ring holds 30 s of samples");
	ok(ordered, "the oldest are kept, in order, and the rest counted as lost");
	is_int(sampler_stop(s, 5 * NS_PER_S), ST_OK, "a free-running clock stops too");
}

static void bad_answers(void)
{
	static struct hw hw;
	struct sampler *s;
	size_t n, unsupported = 0, lost = 0;

	devices(&hw, 2, BIT(CH_POWER) | BIT(CH_ENERGY));
	hw.answer[0][CH_ENERGY] = ST_UNSUPPORTED;
	hw.answer[1][CH_ENERGY] = hw.answer[1][CH_POWER] = ST_LOST;
	s = start(&hw, NS_PER_MS, NULL);
	n = gather(s, CH_POWER, 100);
	for (size_t i = 0; i < n; i++) {
		unsupported += buf[i].s.st == ST_UNSUPPORTED;
		lost += buf[i].s.st == ST_LOST && buf[i].channel == CH_POWER;
	}
	is_int((long long)unsupported, 5,
		"an unsupported channel is left alone after five answers");
	ok(lost >= 10 && lost <= 40, "a lost device is asked again, but seldom");
	sampler_stop(s, NS_PER_S);
}

static void refusals(void)
{
	static struct hw hw;
	struct sampler_config cfg = {.period_ns = NS_PER_MS, .n = 2};
	struct err e = ERR_INIT;
	struct sampler *s;
	unsigned n;

	devices(&hw, 2, 0);
	is_int(sampler_start(&hw, &cfg, &s, &e), ST_NOT_FOUND,
		"devices without channels: nothing to sample");
	cfg.period_ns = 0;
	is_int(sampler_start(&hw, &cfg, &s, &e), ST_RANGE, "a period of 0 is refused");
	cfg = (struct sampler_config){.period_ns = NS_PER_S, .first = 1, .n = 2};
	is_int(sampler_start(&hw, &cfg, &s, &e), ST_RANGE, "ids beyond the list are refused");
	devices(&hw, 2, BIT(CH_POWER));
	cfg = (struct sampler_config){.period_ns = NS_PER_S, .n = 2};
	for (n = 1; n < 10; n++) {
		enum status st;

		fault_arm("alloc", n);
		st = sampler_start(&hw, &cfg, &s, &e);
		if (!fault_fired())
			break;
		ok(st == ST_NOMEM && !s, "allocation %u failing is reported", n);
	}
	fault_arm("alloc", 0);
	is_int(sampler_stop(s, NS_PER_S), ST_OK, "then it starts");
	is_int(sampler_stop(NULL, 0), ST_OK, "stopping nothing is fine");
}

int main(void)
{
	keeps_time();
	keeps_deadlines_absolute();
	kick();
	edges();
	power_alone_is_read_finely();
	deadlines_move_about();
	stalled_driver();
	nobody_drains();
	bad_answers();
	refusals();
	return tap_done();
}
