/* gen_molecule.c: generated molecules with an energy to learn.
 *
 * A random tree of C, N and O atoms grows outwards, bond by bond, keeping atoms apart; hydrogens
 * fill what is left. The energy is a sum of atomic terms and of a Morse-like pair term that depends
 * on both elements and their distance: smooth, local, invariant, like the real thing.
 */
#include <math.h>
#include "data/molecule.h"
#include "ops/rng.h"

struct draw {
	uint64_t seed, stream, i;
};

static double uniform(struct draw *d)
{
	return rng_uniform(d->seed, d->stream, d->i++);
}

static double distance(const struct molecule *m, int i, const float p[3])
{
	double s = 0;

	for (int k = 0; k < 3; k++)
		s += ((double)m->pos[i][k] - p[k]) * ((double)m->pos[i][k] - p[k]);
	return sqrt(s);
}

/* A point at `length` from atom `at` and at least 0.75 of it from all others. */
static bool place(struct molecule *m, struct draw *d, int at, double length, int z)
{
	for (int try = 0; try < 20; try++) {
		double u = 2 * uniform(d) - 1, phi = 6.283185307179586 * uniform(d),
		       r = sqrt(1 - u * u);
		double dir[3] = {r * cos(phi), r * sin(phi), u};
		float p[3];
		bool clear = true;

		for (int k = 0; k < 3; k++)
			p[k] = m->pos[at][k] + (float)(length * dir[k]);
		for (int i = 0; i < m->n && clear; i++)
			clear = i == at || distance(m, i, p) > 0.95 * length;
		if (!clear)
			continue;
		for (int k = 0; k < 3; k++)
			m->pos[m->n][k] = p[k];
		m->z[m->n++] = (uint8_t)z;
		return true;
	}
	return false;
}

static float energy(const struct molecule *m)
{
	static const double self[10] = {0, -0.5, 0, 0, 0, 0, -1.1, -1.6, -2.1, 0};
	double e = 0;

	for (int i = 0; i < m->n; i++) {
		e += self[m->z[i]];
		for (int j = 0; j < i; j++) {
			double d = distance(m, i, m->pos[j]);
			double r0 = 0.6 + 0.07 * (m->z[i] + m->z[j]), x = exp(-1.2 * (d - r0));

			e += 0.02 * sqrt((double)m->z[i] * m->z[j]) * (x * x - 2 * x);
		}
	}
	return (float)e;
}

static void get(const struct molecule_source *s, int64_t id, bool eval, struct molecule *m)
{
	static const int heavy[] = {6, 6, 6, 6, 7, 8};
	struct draw d = {s->seed, eval ? 12 : 11, (uint64_t)id << 12};
	int n_heavy = 3 + (int)(5 * uniform(&d)), n_h = 2 + (int)(6 * uniform(&d));

	*m = (struct molecule){.n = 1, .z = {(uint8_t)heavy[(int)(6 * uniform(&d))]}};
	for (int i = 1; i < n_heavy; i++)
		place(m, &d, (int)(uniform(&d) * m->n), 1.35 + 0.2 * uniform(&d),
			heavy[(int)(6 * uniform(&d))]);
	n_heavy = m->n;
	for (int i = 0; i < n_h; i++)
		place(m, &d, (int)(uniform(&d) * n_heavy), 1.0 + 0.15 * uniform(&d), 1);
	m->target = energy(m);
}

static void close_nothing(struct molecule_source *s)
{
	(void)s;
}

int molecule_generate(struct data *d, struct molecule_source *s, struct fault *f)
{
	(void)f;
	s->get = get;
	s->close = close_nothing;
	d->info.n_train = d->spec.n_train ? d->spec.n_train : 8192;
	d->info.n_eval = 512;
	d->info.unit = "Eh (generated)";
	d->info.generated = true;
	return 0;
}
