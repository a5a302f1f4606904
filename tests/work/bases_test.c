/* bases_test.c: Gaussians, cutoffs, Bessel functions and DimeNet's two bases against scipy's values
 * (tests/reference/bases.py). */
#include "tap.h"
#include "data/basis.h"
#include "data/molecule.h"
#include "models/model.h"

#define VALUES 64

/* What DimeNet makes, before it is trained, of the distance of two atoms. */
static bool radial_basis(double d, float *out)
{
	const struct model *m = model_find("dimenet");
	struct model_cfg cfg = m->size[SIZE_TINY].cfg;
	struct molecule_source source = {.degree_log_mean = 1};
	struct data data = {.info = {.target_std = 1}, .state = &source};
	struct molecule two = {.n = 2, .z = {1, 1}, .pos = {{0}, {(float)d}}};
	struct op_ctx ctx = {.loss_scale = 1};
	struct arena arena = {0};
	struct batch b = {.n_samples = 1, .n_global = 1};
	struct fault f = {0};
	struct params *ps = params_new(&backend_reference);
	struct net *net = net_new(&backend_reference, ps, &ctx, &arena, false);

	cfg.cutoff = 5;
	m->data_spec(&cfg, &data.spec);
	if (!graph_fill(&data, &two, 1, &b, &f)) {
		m->build(net, &cfg, &b);
		if (!net_plan(net, &f) && !params_finish(ps, 0, 1 << 20, &f) &&
			!params_init(ps, 1, &f) && !net_place(net, &f)) {
			for (int i = 0; i < b.n; i++)
				net_bind(net, b.a[i].name, b.a[i].data);
			net_forward(net);
			memcpy(out, net_marked(net, "radial")->data, 6 * sizeof(*out));
		}
	}
	net_free(net);
	params_free(ps);
	arena_release(&arena);
	batch_release(&b);
	if (f.set)
		printf("# %s\n", f.msg);
	return !f.set;
}

static void spherical_basis(double d, double angle, float *out)
{
	static struct basis_sph b;
	double radial[BASIS_MAX_L * BASIS_MAX_N];

	if (!b.n_spherical)
		basis_sph_init(&b, 7, 6, 5);
	basis_sph_distance(&b, d, 5, radial);
	basis_sph_angle(&b, radial, angle, out);
}

/* Ours for one line with arguments v[0], v[1] in front → got; returns how many of v are arguments.
 */
static int ours(const char *kind, const double *v, int n, double *got)
{
	float out[BASIS_MAX_L * BASIS_MAX_N] = {0};
	struct basis_sph b;
	int args = 2;

	if (!strcmp(kind, "gaussian")) {
		basis_gaussian(v[0], 10, (int)v[1], out);
	} else if (!strcmp(kind, "spherical")) {
		spherical_basis(v[0], v[1], out);
	} else if (!strcmp(kind, "bessel")) {
		got[0] = basis_bessel((int)v[0], v[1]);
		return 2;
	} else if (!strcmp(kind, "cosine")) {
		got[0] = basis_cosine(v[0], 10);
		return 1;
	} else if (!strcmp(kind, "zeros")) {
		basis_sph_init(&b, 7, 6, 5);
		memcpy(got, b.zero[(int)v[0]], (size_t)(n - 1) * sizeof(*got));
		return 1;
	} else if (!radial_basis(v[0], out)) {
		return n;
	} else {
		args = 1;
	}
	for (int i = 0; i < n - args; i++)
		got[i] = out[i];
	return args;
}

/* Largest error of a line, relative to its largest value. */
static double line_error(const char *line, char kind[16])
{
	double v[VALUES], got[VALUES] = {0}, most = 0, worst = 0;
	int n = 0, at = 0, used, args;

	if (sscanf(line, "%15s%n", kind, &at) != 1)
		return INFINITY;
	while (n < VALUES && sscanf(line + at, "%lf%n", &v[n], &used) == 1) {
		at += used;
		n++;
	}
	args = ours(kind, v, n, got);
	for (int i = args; i < n; i++)
		most = fmax(most, fabs(v[i]));
	for (int i = args; i < n; i++) {
		double e = fabs(got[i - args] - v[i]) / most;

		worst = isnan(e) || e > worst ? e : worst;
	}
	return n > args ? worst : INFINITY;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind, *what;
		double within;
	} kinds[] = {
		{"gaussian", "Gaussians of the distance", 1e-6},
		{"cosine", "the cosine cutoff", 1e-11},
		{"zeros", "zeros of spherical Bessel functions", 1e-11},
		{"bessel", "spherical Bessel functions", 1e-10},
		{"radial", "DimeNet's radial basis as it starts", 1e-5},
		{"spherical", "DimeNet's spherical basis", 1e-6},
	};
	enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
	double worst[KINDS] = {0};
	int lines[KINDS] = {0};
	char line[2048], kind[16];
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;

	while (file && fgets(line, sizeof(line), file)) {
		double e = line_error(line, kind);

		for (int k = 0; k < KINDS; k++)
			if (!strcmp(kind, kinds[k].kind)) {
				lines[k]++;
				worst[k] = isnan(e) || e > worst[k] ? e : worst[k];
			}
	}
	if (file)
		fclose(file);
	for (int k = 0; k < KINDS; k++)
		ok(lines[k] > 0 && worst[k] < kinds[k].within,
			"%s: %d lines of scipy's values (worst error %.1e)", kinds[k].what,
			lines[k], worst[k]);
	return tap_done();
}
