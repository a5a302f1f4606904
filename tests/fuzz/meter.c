/* meter.c: any stream of samples: whatever a driver says, the answers keep their promises. */
#include "fuzz.h"

#include "measure/meter.h"

/* Eight bytes a sample: channel and status, time step, value. */
struct bytes {
	uint8_t what, dt, v[6];
};

static int64_t value_of(const uint8_t v[6])
{
	static const int64_t odd[] = {
		0, -1, INT64_MAX, INT64_MIN, INT64_C(140737488355328), 4294967295, 262143328850, 1};
	int64_t x = v[0] | (int64_t)v[1] << 8 | (int64_t)v[2] << 16 | (int64_t)v[3] << 24;

	if (v[5] == 255)
		return odd[v[4] % 8];
	return v[5] == 254 ? x << 20 : v[5] & 1 ? x % 400000 : x;
}

static void check(const struct meter *m, int64_t t0, int64_t t1)
{
	struct meter_energy e;
	enum status st = meter_energy(m, t0, t1, &e);

	must(st == (t1 > t0 ? ST_OK : ST_RANGE));
	if (st != ST_OK) {
		must(e.method == ENERGY_NONE && e.energy_uj.st != ST_OK);
		return;
	}
	must(e.coverage_ppm.st == ST_OK && e.coverage_ppm.v >= 0 && e.coverage_ppm.v <= 1000000);
	must((e.method == ENERGY_NONE) ==
		(e.energy_uj.st != ST_OK && e.energy_uj.st != ST_PARTIAL));
	must(e.energy_uj.st != ST_OK || e.coverage_ppm.v >= METER_GOOD_PPM);
	must(e.resolution_ppm.st != ST_OK ||
		(e.resolution_ppm.v >= 0 && e.resolution_ppm.v <= 1000000));
	must(e.counter_uj.st != ST_OK || e.counter_uj.v >= 0);
	if (e.max_mw.st == ST_OK)
		must(e.min_mw.v <= e.p95_mw.v && e.p95_mw.v <= e.max_mw.v && e.min_mw.v >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum status states[] = {
		ST_OK, ST_OK, ST_OK, ST_OK, ST_OK, ST_UNKNOWN, ST_LOST, ST_UNSUPPORTED};
	static const int64_t wraps[] = {0, 1000000, 65532610987, 262143328850};
	struct meter_config cfg = {0};
	struct meter *m;
	int64_t t = 1000000000;

	if (size < 4)
		return 0;
	cfg.energy_wrap = wraps[data[0] % 4];
	cfg.max_power_mw = data[0] & 16 ? 400000 : 0;
	cfg.refresh_ns = data[1] * INT64_C(1000000);
	cfg.power_kind = data[2] & 1 ? POWER_KIND_AVERAGE : POWER_KIND_INSTANT;
	cfg.period_ns = data[2] & 2 ? 100000000 : 0;
	if (meter_new(&cfg, &m) != ST_OK)
		abort();
	if (data[3] & 1)
		meter_pin(m, t + data[3] * INT64_C(10000000));
	for (size_t i = 4; i + sizeof(struct bytes) <= size; i += sizeof(struct bytes)) {
		struct bytes b;
		struct sample s;

		memcpy(&b, data + i, sizeof(b));
		t += b.dt == 255   ? 3600 * INT64_C(1000000000)
		     : b.dt == 254 ? -50000000
				   : b.dt * INT64_C(1000000);
		s = (struct sample){.value = value_of(b.v), .t_ns = t, .st = states[b.what >> 5]};
		meter_push(m, (enum channel)(b.what % 6), &s);
	}
	check(m, 1000000000, t);
	check(m, 1000000000 + (t - 1000000000) / 3, 1000000000 + (t - 1000000000) / 2);
	check(m, 0, t + 5000000000);
	check(m, t + 1000000000, t + 2000000000);
	meter_free(m);
	return 0;
}
