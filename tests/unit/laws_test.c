/* laws_test.c: the laws of a set are the same to the last bit, however many threads fitted them. */
#include "tap.h"

#include "base/mem.h"
#include "cmd/laws.h"

#define GROUPS 40
#define CAPS   7
#define REPS   2

/* Small and the same everywhere; uniform in [-1, 1). */
static double noise(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(int32_t)(uint32_t)(*seed >> 32) * 0x1p-31;
}

/* Forty workloads, seven limits, two repeats, 1 % of noise: 120 series of time, power and energy.
 */
static void invent(struct law_set *set, unsigned threads)
{
	uint64_t seed = 7;

	memset(set, 0, sizeof(*set));
	set->threads = threads;
	set->groups = mem_calloc(GROUPS, sizeof(*set->groups));
	set->n_groups = GROUPS;
	for (unsigned g = 0; g < GROUPS; g++) {
		struct law_group *grp = &set->groups[g];
		char name[32];

		snprintf(name, sizeof(name), "net%u", g);
		grp->workload = mem_strdup(name);
		grp->where = mem_strdup("");
		grp->label = mem_strdup("imported");
		grp->work_unit = mem_strdup("run");
		grp->obs = mem_calloc(CAPS * REPS, sizeof(*grp->obs));
		for (unsigned i = 0; i < CAPS * REPS; i++) {
			double cap = 100 + 25 * (i % CAPS);
			double t = pow(1 + pow((120 + 3 * g) / cap, 3), 0.25) *
				   (1 + 0.01 * noise(&seed));
			double w = fmin(cap, 190 + g) * (1 + 0.01 * noise(&seed));

			grp->obs[grp->n++] = (struct obs){.x = {1, cap, NAN, NAN},
				.y = {[QTY_TIME] = t, [QTY_POWER] = w, [QTY_ENERGY] = t * w},
				.weight = 1,
				.is_default = i % CAPS == CAPS - 1,
				.row = (long)++set->n_runs};
		}
	}
}

/* Everything a fit says, folded into one number; padding and stale knots are left out. */
static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	for (const unsigned char *c = p; n--; c++)
		h = (h ^ *c) * 0x100000001b3u;
	return h;
}

static uint64_t digest(const struct law_set *set)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < set->n_series; i++) {
		const struct selection *s = set->series[i].sel;

		if (!s)
			return 0;
		h = mix(h, &s->best, sizeof(s->best));
		h = mix(h, s->weight, s->n_fits * sizeof(*s->weight));
		h = mix(h, &s->combined_loo_rms, sizeof(double));
		h = mix(h, s->boot, s->n_boot * sizeof(s->boot[0]));
		h = mix(h, &s->effect_lo, sizeof(double));
		for (unsigned k = 0; k < s->n_fits; k++) {
			const struct fit *f = &s->fits[k];

			if (f->st != ST_OK)
				continue;
			h = mix(h, f->sh.p, sizeof(f->sh.p));
			h = mix(h, f->sh.ky, f->sh.n_knots * sizeof(double));
			h = mix(h, f->ci95, sizeof(f->ci95));
			h = mix(h, &f->loo_rms, sizeof(double));
		}
	}
	return h;
}

int main(void)
{
	static const unsigned threads[] = {1, 2, 2, 5, 0};
	uint64_t first = 0;

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		struct law_set set;
		struct err e = ERR_INIT;
		uint64_t d;

		invent(&set, threads[i]);
		ok(law_set_fit(&set, 0, &e) == ST_OK, "%u threads fit (%s)", threads[i], e.msg);
		is_int(set.n_series, 3 * GROUPS, "every series");
		d = digest(&set);
		first = i ? first : d;
		ok(d != 0 && d == first, "with the numbers of one thread (%016llx)",
			(unsigned long long)d);
		law_set_release(&set);
	}
	return tap_done();
}
