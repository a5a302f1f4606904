/* molecule.c: the source of molecules, and molecules as graphs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "data/basis.h"
#include "data/molecule.h"

#define ENVELOPE 5 /* DimeNet's exponent: p = 6 */

static const char *const symbols[] = {"", "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne",
	"Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe",
	"Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y", "Zr", "Nb",
	"Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe"};

int molecule_element(const char *symbol)
{
	for (size_t i = 1; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strcmp(symbols[i], symbol))
			return (int)i;
	return 0;
}

static double distance(const struct molecule *m, int i, int j)
{
	double s = 0;

	for (int k = 0; k < 3; k++) {
		double d = (double)m->pos[i][k] - m->pos[j][k];

		s += d * d;
	}
	return sqrt(s);
}

/* Do i and j share an edge? */
static bool joined(const struct data *d, const struct molecule *m, int i, int j)
{
	return i != j && (!m->edge || (m->edge[i] >> j & 1)) && distance(m, i, j) < d->spec.cutoff;
}

/* The angle at j between j → i and j → k; atan2 keeps its precision near 0 and π. */
static double angle_at(const struct molecule *m, int i, int j, int k)
{
	double a[3], b[3], dot = 0, cross;

	for (int c = 0; c < 3; c++) {
		a[c] = (double)m->pos[i][c] - m->pos[j][c];
		b[c] = (double)m->pos[k][c] - m->pos[j][c];
		dot += a[c] * b[c];
	}
	cross = sqrt(pow(a[1] * b[2] - a[2] * b[1], 2) + pow(a[2] * b[0] - a[0] * b[2], 2) +
		     pow(a[0] * b[1] - a[1] * b[0], 2));
	return atan2(cross, dot);
}

/* Next of eight sizes an octave, at least 16: at most an eighth is padding, and few nets. */
static int64_t bucket(int64_t n)
{
	int64_t step = 2;

	while (step * 16 < n)
		step *= 2;
	return n < 16 ? 16 : (n + step - 1) / step * step;
}

struct sizes {
	int64_t atoms, edges, triplets;
};

static struct sizes count(const struct data *d, const struct molecule *m, int64_t n)
{
	struct sizes s = {0};

	for (int64_t g = 0; g < n; g++) {
		s.atoms += m[g].n;
		for (int i = 0; i < m[g].n; i++) {
			int64_t degree = 0;

			for (int j = 0; j < m[g].n; j++)
				degree += joined(d, &m[g], i, j);
			s.edges += degree;
			/* k → j → i for every pair of neighbours of j */
			s.triplets += degree * (degree - 1);
		}
	}
	return s;
}

/* The arrays being filled, and how far. */
struct graph {
	const struct data *data;
	const struct data_spec *spec;
	int32_t *z, *mol, *src, *dst, *kj, *ji;
	float *dist, *cut, *rbf, *env, *sph, *amp, *att;
	int64_t atom, edge, triplet;
	struct basis_sph basis;
	double degree_log_mean;
};

static void add_edge(struct graph *g, const struct molecule *m, int j, int i)
{
	int64_t e = g->edge++;
	double d = distance(m, i, j), c = g->spec->cutoff;

	g->src[e] = (int32_t)(g->atom + j);
	g->dst[e] = (int32_t)(g->atom + i);
	g->dist[e] = (float)d;
	g->cut[e] = (float)basis_cosine(d, c);
	if (g->rbf)
		basis_gaussian(d, c, g->spec->gaussians, g->rbf + e * g->spec->gaussians);
	if (g->env)
		g->env[e] = (float)basis_envelope(d / c, ENVELOPE);
}

/* Triplets k → j → i of one molecule, whose edges are numbered by id[j][i] = edge j → i. */
static void add_triplets(
	struct graph *g, const struct molecule *m, const int32_t id[MOLECULE_ATOMS][MOLECULE_ATOMS])
{
	int width = g->spec->spherical * g->spec->radial;
	double radial[BASIS_MAX_L * BASIS_MAX_N];

	for (int j = 0; j < m->n; j++)
		for (int k = 0; k < m->n; k++) {
			if (id[k][j] < 0)
				continue;
			basis_sph_distance(&g->basis, distance(m, k, j), g->spec->cutoff, radial);
			for (int i = 0; i < m->n; i++) {
				int64_t t;

				if (id[j][i] < 0 || i == k)
					continue;
				t = g->triplet++;
				g->kj[t] = id[k][j];
				g->ji[t] = id[j][i];
				basis_sph_angle(&g->basis, radial, angle_at(m, i, j, k),
					g->sph + t * width);
			}
		}
}

static void add_molecule(struct graph *g, const struct molecule *m, int32_t number)
{
	int32_t id[MOLECULE_ATOMS][MOLECULE_ATOMS];

	memset(id, 0xff, sizeof(id));
	for (int i = 0; i < m->n; i++) {
		int64_t first = g->edge;
		double log_degree;

		g->z[g->atom + i] = m->z[i];
		g->mol[g->atom + i] = number;
		for (int j = 0; j < m->n; j++) {
			if (!joined(g->data, m, i, j))
				continue;
			id[j][i] = (int32_t)g->edge;
			add_edge(g, m, j, i);
		}
		log_degree = log((double)(g->edge - first) + 1);
		if (g->amp) {
			g->amp[g->atom + i] = (float)(log_degree / g->degree_log_mean);
			/* an isolated atom would divide by zero: PNA clamps the degree at 1 */
			g->att[g->atom + i] =
				(float)(g->degree_log_mean / fmax(log_degree, log(2)));
		}
	}
	if (g->sph)
		add_triplets(g, m, (const int32_t(*)[MOLECULE_ATOMS])id);
	g->atom += m->n;
}

#define ARRAY(b, name, dt, ...)                                                                    \
	batch_array(b, name, dt, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),        \
		(const int64_t[]){__VA_ARGS__})

static bool make_arrays(struct graph *g, struct sizes s, struct batch *b)
{
	const struct data_spec *sp = g->spec;
	int64_t na = bucket(s.atoms), ne = bucket(s.edges), nt = bucket(s.triplets);

	g->z = ARRAY(b, "z", DT_I32, na);
	g->mol = ARRAY(b, "mol", DT_I32, na);
	g->src = ARRAY(b, "src", DT_I32, ne);
	g->dst = ARRAY(b, "dst", DT_I32, ne);
	g->dist = ARRAY(b, "dist", DT_F32, ne, 1);
	g->cut = ARRAY(b, "cut", DT_F32, ne, 1);
	if (!g->z || !g->mol || !g->src || !g->dst || !g->dist || !g->cut)
		return false;
	memset(g->mol, 0xff, (size_t)na * sizeof(*g->mol));
	memset(g->src, 0xff, (size_t)ne * sizeof(*g->src));
	memset(g->dst, 0xff, (size_t)ne * sizeof(*g->dst));
	if (sp->gaussians && !(g->rbf = ARRAY(b, "rbf", DT_F32, ne, sp->gaussians)))
		return false;
	if (sp->degrees && (!(g->amp = ARRAY(b, "amp", DT_F32, na, 1)) ||
				   !(g->att = ARRAY(b, "att", DT_F32, na, 1))))
		return false;
	if (!sp->triplets)
		return true;
	g->env = ARRAY(b, "env", DT_F32, ne, 1);
	g->sph = ARRAY(b, "sph", DT_F32, nt, (int64_t)sp->spherical * sp->radial);
	g->kj = ARRAY(b, "kj", DT_I32, nt);
	g->ji = ARRAY(b, "ji", DT_I32, nt);
	if (!g->env || !g->sph || !g->kj || !g->ji)
		return false;
	memset(g->kj, 0xff, (size_t)nt * sizeof(*g->kj));
	memset(g->ji, 0xff, (size_t)nt * sizeof(*g->ji));
	return true;
}

int graph_fill(
	struct data *d, const struct molecule *m, int64_t n, struct batch *b, struct fault *f)
{
	const struct molecule_source *s = d->state;
	struct graph g = {.data = d, .spec = &d->spec, .degree_log_mean = s->degree_log_mean};
	float *target = ARRAY(b, "target", DT_F32, n, 1);

	if (!target || !make_arrays(&g, count(d, m, n), b))
		return fault_set(f, "out of memory for a batch of %lld molecules", (long long)n);
	if (d->spec.triplets)
		basis_sph_init(&g.basis, d->spec.spherical, d->spec.radial, ENVELOPE);
	for (int64_t i = 0; i < n; i++) {
		add_molecule(&g, &m[i], (int32_t)i);
		target[i] = (float)((m[i].target - d->info.target_mean) / d->info.target_std);
	}
	return 0;
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	struct molecule_source *s = d->state;
	struct molecule *m = malloc((size_t)(n ? n : 1) * sizeof(*m));
	int rc;

	(void)epoch;
	if (!m)
		return fault_set(f, "out of memory for a batch of %lld molecules", (long long)n);
	for (int64_t i = 0; i < n; i++)
		s->get(s, index[i], eval, &m[i]);
	rc = graph_fill(d, m, n, b, f);
	free(m);
	return rc;
}

static void close_source(struct data *d)
{
	struct molecule_source *s = d->state;

	s->close(s);
	free(s);
}

/* Mean and standard deviation of the property and the mean log degree, over the first molecules. */
static void survey(struct data *d, struct molecule_source *s)
{
	int64_t n = d->info.n_train < 1000 ? d->info.n_train : 1000, atoms = 0;
	double sum = 0, sq = 0, logs = 0;

	for (int64_t k = 0; k < n; k++) {
		struct molecule m;

		s->get(s, k, false, &m);
		sum += m.target;
		sq += (double)m.target * m.target;
		for (int i = 0; i < m.n; i++, atoms++) {
			int degree = 0;

			d->info.max_z = m.z[i] > d->info.max_z ? m.z[i] : d->info.max_z;
			for (int j = 0; j < m.n; j++)
				degree += joined(d, &m, i, j);
			logs += log(degree + 1);
		}
	}
	d->info.target_mean = sum / (double)n;
	sq = sq / (double)n - d->info.target_mean * d->info.target_mean;
	d->info.target_std = sq > 0 ? sqrt(sq) : 1;
	s->degree_log_mean = logs > 0 ? logs / (double)atoms : 1;
}

int data_open_molecule(struct data *d, struct fault *f)
{
	static const struct data_ops generated = {"generated molecules", fill, close_source};
	static const struct data_ops from_file = {"molecules", fill, close_source};
	struct molecule_source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return fault_set(f, "out of memory");
	s->seed = d->spec.seed;
	d->info.targets = 1;
	rc = d->spec.path ? molecule_read(d, s, f) : molecule_generate(d, s, f);
	if (rc) {
		free(s);
		return rc;
	}
	survey(d, s);
	d->state = s;
	d->ops = d->spec.path ? &from_file : &generated;
	return 0;
}
