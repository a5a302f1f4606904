/* Graph networks: bases, files of molecules, and energies that do not depend on how a molecule
 * lies. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "comm/comm.h"
#include "data/basis.h"
#include "data/molecule.h"
#include "models/model.h"
#include "tap.h"

static const char *const names[] = {"schnet", "dimenet", "pna", "nnconv"};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

/* Values by scipy.special: spherical_jn, its zeros, sph_harm. */
static void bases_are_right(void)
{
	struct basis_sph b;
	double radial[BASIS_MAX_L * BASIS_MAX_N];
	float out[BASIS_MAX_L * BASIS_MAX_N], g[50];

	is_near(basis_bessel(0, 1.0), 0.8414709848078965, 1e-14, "j0(1)");
	is_near(basis_bessel(3, 0.1), 9.518519720865581e-06, 1e-18,
		"j3(0.1), where recurrence would fail");
	is_near(basis_bessel(6, 20.0), -0.0412999997746451, 1e-14, "j6(20)");
	basis_sph_init(&b, 7, 6, 5);
	is_near(b.zero[0][2], 9.42477796076938, 1e-12, "third zero of j0");
	is_near(b.zero[1][0], 4.493409457909064, 1e-12, "first zero of j1");
	is_near(b.zero[6][5], 27.50786836490425, 1e-12, "sixth zero of j6");
	basis_sph_distance(&b, 2.5, 5.0, radial);
	basis_sph_angle(&b, radial, 0, out);
	/* Y_l0(0) = sqrt((2l+1)/4π) */
	is_near(out[3 * 6] / radial[3 * 6], sqrt(7 / (4 * M_PI)), 1e-6, "Y_30 at angle 0");
	is_near(basis_envelope(1 - 1e-9, 5), 0, 1e-7, "the envelope ends at 0");
	is_near(basis_envelope(0.5, 5), 2 - 28 * pow(.5, 5) + 48 * pow(.5, 6) - 21 * pow(.5, 7),
		1e-12, "and is the published polynomial");
	basis_gaussian(0, 10, 50, g);
	is_near(g[0], 1, 0, "the first Gaussian sits at 0");
	is_near(g[1], exp(-0.5), 1e-6, "and the next a standard deviation away");
	is_near(basis_cosine(5, 10), 0.5, 1e-12, "half way the cosine cutoff is a half");
}

static void refuse(const char *text, const char *target, const char *msg, const char *what)
{
	char path[] = "/tmp/wattlaw-xyz-XXXXXX";
	struct data_spec s = {.kind = DATA_MOLECULE, .path = path, .cutoff = 5, .target = target};
	int fd = mkstemp(path);
	struct fault f = {0};
	struct data d;

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a file");
	close(fd);
	ok(data_open(&d, &s, &f) < 0, "%s is refused", what);
	has(f.msg, msg, "and the message helps");
	unlink(path);
}

static const char methane[] =
	"5\n"
	"gdb "
	"1\t157.7118\t157.70997\t157.70699\t0.\t13.21\t-0.3877\t0.1171\t0.5048\t35.3641\t0.044749\t"
	"-40.47893\t-40.476062\t-40.475117\t-40.498597\t6.469\t\n"
	"C\t-0.0126981359\t 1.0858041578\t 0.0080009958\t-0.535689\n"
	"H\t 0.002150416\t-0.0060313176\t 0.0019761204\t 0.133921\n"
	"H\t 1.0117308433\t 1.4637511618\t 2.765*^-4\t 0.133922\n"
	"H\t-0.540815069\t 1.4475266138\t-0.8766437152\t 0.133923\n"
	"H\t-0.5238136345\t 1.4379326443\t 0.9063972942\t 0.133923\n"
	"1341.307\t1341.3284\t1341.365\nC\tC\nInChI=1S/CH4/h1H4\tInChI=1S/CH4/h1H4\n";

static void reads_qm9(void)
{
	char path[] = "/tmp/wattlaw-xyz-XXXXXX", two[4096];
	struct data_spec s = {.kind = DATA_MOLECULE, .path = path, .cutoff = 5, .gaussians = 8};
	int fd = mkstemp(path);
	struct fault f = {0};
	struct batch b = {0};
	struct data d;
	int64_t index = 0;

	snprintf(two, sizeof(two), "%s%s", methane, methane);
	ok(fd >= 0 && write(fd, two, strlen(two)) == (ssize_t)strlen(two), "two molecules of QM9");
	close(fd);
	ok(!data_open(&d, &s, &f), "are read (%s)", f.msg);
	ok(!d.ops->fill(&d, &index, 1, 0, false, &b, &f), "and made a graph");
	is_int(((int32_t *)batch_find(&b, "z")->data)[0], 6, "its first atom is carbon");
	is_int(((int32_t *)batch_find(&b, "dst")->data)[19], 4,
		"five atoms have twenty directed edges");
	is_int(((int32_t *)batch_find(&b, "mol")->data)[5], -1, "the rest of the atoms is padding");
	is_near(((float *)batch_find(&b, "dist")->data)[0], 1.0919, 1e-3,
		"C-H is 1.09 Angstrom long");
	batch_release(&b);
	data_close(&d);
	unlink(path);
	refuse("5\nnothing\n", NULL, ":2: expected QM9's line", "a plain .xyz");
	refuse("5\ngdb 1 1 2 3\n", NULL, ":2: expected 15", "a line with too few properties");
	refuse("2\ngdb 1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nXx 0 0 0\n", NULL,
		":3: expected an element", "an unknown element");
	refuse("2\ngdb 1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nC 0 0 0\n", NULL,
		"ends before the last atom", "a truncated file");
	refuse("900\n", NULL, ":1: expected a number of atoms", "a molecule too large");
	refuse("", NULL, "the file is empty", "an empty file");
	refuse(methane, "gab", "did you mean gap", "an unknown property");
}

/* Energies of molecules by an untrained network, all positions and orders as given. */
static void energies(const struct model *m, const struct molecule *mol, int64_t n, float *out)
{
	struct model_cfg cfg = m->size[SIZE_TINY].cfg;
	struct data_spec s = {.kind = DATA_MOLECULE};
	struct op_ctx ctx = {.loss_scale = 1};
	struct arena arena = {0};
	struct batch b = {.n_samples = n, .n_global = n};
	struct fault f = {0};
	struct params *ps = params_new(&backend_reference);
	struct net *net = net_new(&backend_reference, ps, &ctx, &arena, false);
	struct data d;

	m->data_spec(&cfg, &s);
	if (data_open(&d, &s, &f) || graph_fill(&d, mol, n, &b, &f)) {
		ok(false, "%s: %s", m->name, f.msg);
		return;
	}
	cfg.data = d.info;
	m->build(net, &cfg, &b);
	if (net_plan(net, &f) || params_finish(ps, 0, 1 << 20, &f) || params_init(ps, 7, &f) ||
		net_place(net, &f)) {
		ok(false, "%s: %s", m->name, f.msg);
		return;
	}
	for (int i = 0; i < b.n; i++)
		net_bind(net, b.a[i].name, b.a[i].data);
	net_forward(net);
	memcpy(out, net_marked(net, "output")->data, (size_t)n * sizeof(float));
	net_free(net);
	params_free(ps);
	arena_release(&arena);
	batch_release(&b);
	data_close(&d);
}

static void is_invariant(const char *name)
{
	const struct model *m = model_find(name);
	struct data_spec s = {.kind = DATA_MOLECULE, .cutoff = 5};
	struct fault f = {0};
	struct molecule mol[3], again[3];
	struct molecule_source *src;
	float e[3], moved[3], other[3];
	struct data d;

	if (!ok(m && !data_open(&d, &s, &f), "%s: molecules", name))
		return;
	src = d.state;
	for (int i = 0; i < 3; i++)
		src->get(src, i, false, &mol[i]);
	data_close(&d);
	energies(m, mol, 3, e);
	ok(isfinite(e[0]) && fabsf(e[0] - e[1]) > 1e-6f, "%s tells molecules apart", name);
	for (int i = 0; i < 3; i++) {
		again[i] = mol[i];
		for (int a = 0; a < mol[i].n; a++) {
			/* rotation by 0.7 about z, then 1.1 about x; translation; atoms reversed */
			const float *p = mol[i].pos[a];
			double x = cos(0.7) * p[0] - sin(0.7) * p[1],
			       y = sin(0.7) * p[0] + cos(0.7) * p[1];
			float *q = again[i].pos[mol[i].n - 1 - a];

			q[0] = (float)(x + 3);
			q[1] = (float)(cos(1.1) * y - sin(1.1) * p[2] - 1);
			q[2] = (float)(sin(1.1) * y + cos(1.1) * p[2] + 2);
			again[i].z[mol[i].n - 1 - a] = mol[i].z[a];
		}
	}
	energies(m, again, 3, moved);
	for (int i = 0; i < 3; i++)
		is_near(moved[i], e[i], 2e-4 * (1 + fabs(e[i])),
			"rotating, moving and renaming atoms changes nothing");
	energies(m, mol, 1, other);
	is_near(other[0], e[0], 1e-4 * (1 + fabs(e[0])), "nor do the other molecules of the batch");
	again[0] = mol[0];
	again[0].pos[0][0] += 0.1f;
	energies(m, again, 1, moved);
	ok(fabsf(moved[0] - e[0]) > 1e-6f, "but moving one atom does");
}

int main(void)
{
	bases_are_right();
	reads_qm9();
	for (size_t i = 0; i < N_NAMES; i++)
		is_invariant(names[i]);
	return tap_done();
}
