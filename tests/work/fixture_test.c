/* fixture_test.c: every network against what PyTorch computed (tests/reference/fixtures.py): the
 * loss of a step, the gradient of every parameter, the losses of 20 steps. Weights and data come
 * from a hash, as there. */
#include "tap.h"
#include "data/molecule.h"
#include "models/model.h"
#include "ops/rng.h"

#define N       4 /* samples a step */
#define BATCHES 4 /* in turn */
#define WEIGHTS 77
#define DATA    78
#define PICKS   79

struct lab {
	const struct model *m;
	struct model_cfg cfg;
	const struct backend *be;
	struct params *ps;
	struct op_ctx ctx;
	struct arena arena;
	struct net *net[BATCHES]; /* one for all, but one each for graphs: their sizes differ */
	struct batch batch;
	struct data data; /* of graphs */
	struct molecule_source source;
	struct optim optim;
	struct fault f;
};

static float uniform(uint64_t seed, const char *name, int64_t i)
{
	return rng_uniform(seed, rng_name(name), (uint64_t)i);
}

static void set_weights(struct params *ps, uint64_t seed)
{
	for (int k = 0; k < ps->n; k++) {
		struct param *p = ps->p[k];
		int64_t n = tensor_count(&p->w), fan = n / p->w.dim[0];
		size_t len = strlen(p->name);
		bool gain = len > 6 && !strcmp(p->name + len - 6, "weight");
		float *v = malloc((size_t)n * sizeof(*v));

		for (int64_t i = 0; p->trainable && i < n; i++) {
			v[i] = 2 * uniform(WEIGHTS + 1000 * seed, p->name, i) - 1;
			if (p->w.n_dims > 1)
				v[i] *= (float)sqrt(3.0 / (double)fan);
			else if (strstr(p->name, "bn3.weight"))
				v[i] = 0.25f + 0.05f * v[i];
			else
				v[i] = (gain ? 1 : 0) + 0.2f * v[i];
		}
		if (p->trainable)
			param_load(ps, p, v);
		free(v);
	}
}

static void fill_labels(struct lab *l, int step, int limit, int n_dims, const int64_t *dim)
{
	int32_t *v = batch_array(&l->batch, "label", DT_I32, n_dims, dim);
	char name[32];
	int64_t n = 1;

	for (int d = 0; d < n_dims; d++)
		n *= dim[d];
	snprintf(name, sizeof(name), "label%d", step);
	for (int64_t i = 0; i < n; i++)
		v[i] = (int32_t)rng_below(DATA, rng_name(name), (uint64_t)i, limit);
}

static void fill_images(struct lab *l, int step)
{
	int64_t side = l->cfg.image;
	float *v = batch_array(&l->batch, "image", DT_F32, 4, (const int64_t[]){N, 3, side, side});
	char name[32];

	snprintf(name, sizeof(name), "image%d", step);
	for (int64_t i = 0; i < N * 3 * side * side; i++)
		v[i] = 1.7f * (2 * uniform(DATA, name, i) - 1);
	if (l->m->data == DATA_SEGMENT)
		fill_labels(l, step, 4, 3, (const int64_t[]){N, side, side});
	else
		fill_labels(l, step, 10, 1, (const int64_t[]){N});
}

static void fill_text(struct lab *l, int step, bool classify)
{
	int64_t t = l->cfg.seq, dim[2] = {N, t};
	int32_t *ids = batch_array(&l->batch, "ids", DT_I32, 2, dim), *mask = NULL, *label;
	int32_t *pos = batch_array(&l->batch, "position", DT_I32, 2, dim);
	char name[2][32];

	if (l->m->data != DATA_CLM)
		mask = batch_array(&l->batch, "mask", DT_I32, 2, dim);
	snprintf(name[0], sizeof(name[0]), "ids%d", step);
	snprintf(name[1], sizeof(name[1]), "chosen%d", step);
	for (int64_t i = 0; i < N * t; i++) {
		ids[i] = 5 +
			 (int32_t)rng_below(DATA, rng_name(name[0]), (uint64_t)i, l->cfg.vocab - 5);
		pos[i] = (int32_t)(i % t);
		if (mask)
			mask[i] = i % t < t - 3 * (i / t % 4);
	}
	if (classify) {
		fill_labels(l, step, 2, 1, dim);
	} else if (!mask) {
		fill_labels(l, step, l->cfg.vocab, 2, dim);
	} else {
		label = batch_array(&l->batch, "label", DT_I32, 2, dim);
		for (int64_t i = 0; i < N * t; i++)
			label[i] = mask[i] && uniform(DATA, name[1], i) < 0.3f ? ids[i] : -1;
	}
}

/* Atoms on a shaken grid; the last one of the last molecule is alone. */
static void make_molecule(struct molecule *m, int step, int g)
{
	static const uint8_t element[4] = {1, 6, 7, 8};
	char name[2][32];

	snprintf(name[0], sizeof(name[0]), "z%d.%d", step, g);
	snprintf(name[1], sizeof(name[1]), "pos%d.%d", step, g);
	*m = (struct molecule){.n = 4 + (step + 2 * g) % 5};
	for (int i = 0; i < m->n; i++) {
		int grid[3] = {i % 3, i / 3 % 3, i / 9};

		m->z[i] = element[rng_below(DATA, rng_name(name[0]), (uint64_t)i, 4)];
		for (int k = 0; k < 3; k++)
			m->pos[i][k] =
				1.3f * (float)grid[k] + 0.5f * uniform(DATA, name[1], 3 * i + k);
	}
	for (int k = 0; g == N - 1 && k < 3; k++)
		m->pos[m->n - 1][k] += 8;
}

static void fill_molecules(struct lab *l, int step)
{
	struct molecule m[N];
	char name[32];

	snprintf(name, sizeof(name), "target%d", step);
	for (int g = 0; g < N; g++) {
		make_molecule(&m[g], step, g);
		m[g].target = 2 * uniform(DATA, name, g) - 1;
	}
	graph_fill(&l->data, m, N, &l->batch, &l->f);
}

/* Edges, angles and bases are made by the product's own code. */
static void set_molecules(struct lab *l)
{
	l->source.degree_log_mean = 1.7;
	l->data = (struct data){
		.spec = {.kind = DATA_MOLECULE}, .info = {.target_std = 1}, .state = &l->source};
	l->m->data_spec(&l->cfg, &l->data.spec);
}

static void fill(struct lab *l, int step)
{
	if (!strcmp(l->m->domain, "vision"))
		fill_images(l, step);
	else if (!strcmp(l->m->domain, "chemistry"))
		fill_molecules(l, step);
	else
		fill_text(l, step, l->cfg.task != NULL);
}

/* The net of that batch, planned and placed when first asked for, bound to the batch. */
static struct net *net_of(struct lab *l, int number)
{
	struct net **n = &l->net[l->m->data == DATA_MOLECULE ? number : 0];

	fill(l, number);
	if (!*n) {
		*n = net_new(l->be, l->ps, &l->ctx, &l->arena, true);
		l->m->build(*n, &l->cfg, &l->batch);
		if (net_plan(*n, &l->f) ||
			(!l->ps->finished && params_finish(l->ps, 2, 1 << 22, &l->f)) ||
			net_place(*n, &l->f)) {
			printf("# %s\n", l->f.msg);
			return NULL;
		}
	}
	for (int i = 0; i < l->batch.n; i++)
		net_bind(*n, l->batch.a[i].name, l->batch.a[i].data);
	return *n;
}

/* name: the network's, with _TASK for another task than its first */
static bool lab_open(struct lab *l, const char *name, const struct backend *be)
{
	const char *task = strstr(name, "_classification");
	char base[32];

	snprintf(base, sizeof(base), "%.*s", task ? (int)(task - name) : (int)strlen(name), name);
	*l = (struct lab){.m = model_find(base),
		.be = be,
		.ctx = {.seed = 1, .n_local = N, .n_global = N, .loss_scale = 1}};
	if (!l->m)
		return false;
	l->cfg = l->m->size[SIZE_TINY].cfg;
	l->cfg.dropout = 0;
	l->cfg.task = task ? task + 1 : NULL;
	if (!strcmp(base, "inception_v3"))
		l->cfg.image = 107; /* so that the last images are more than one pixel */
	l->cfg.data = (struct data_info){.channels = 3,
		.height = l->cfg.image,
		.width = l->cfg.image,
		.classes = task                         ? 2
			   : l->m->data == DATA_SEGMENT ? 4
							: 10,
		.vocab = l->cfg.vocab,
		.seq = l->cfg.seq,
		.special = 5};
	if (l->m->data == DATA_MOLECULE)
		set_molecules(l);
	l->ps = params_new(be);
	if (!net_of(l, 0))
		return false;
	params_init(l->ps, 1, &l->f); /* running statistics */
	return true;
}

static void lab_close(struct lab *l)
{
	for (int i = 0; i < BATCHES; i++)
		net_free(l->net[i]);
	params_free(l->ps);
	arena_release(&l->arena);
	batch_release(&l->batch);
}

/* Mean loss of that step's batch; gradients are left as sums. */
static double step(struct lab *l, int number)
{
	struct net *n = net_of(l, number);

	if (!n)
		return NAN;
	l->ctx.stats = (struct op_stats){0};
	params_begin_step(l->ps);
	net_forward(n);
	net_backward(n, NULL, NULL);
	return l->ctx.stats.loss / l->ctx.stats.count;
}

/* fmax would pass over a NaN. */
static double worse(double a, double b)
{
	return isnan(b) || b > a ? b : a;
}

/* One "gradient NAME NORM VALUES…" line; returns the worst relative error. */
static double gradient_error(struct lab *l, const char *line)
{
	char name[80];
	double norm, got = 0, worst, want;
	int at = 0, used;
	struct param *p;
	int64_t n;
	float *g;

	if (sscanf(line, "gradient %79s %lf%n", name, &norm, &at) != 2 ||
		!(p = params_find(l->ps, name)))
		return INFINITY;
	n = tensor_count(&p->w);
	g = malloc((size_t)n * sizeof(*g));
	param_store_grad(l->ps, p, g);
	for (int64_t i = 0; i < n; i++) {
		g[i] /= (float)l->ctx.stats.count;
		got += (double)g[i] * g[i];
	}
	/* gradients that are zero but for rounding (a bias before a batch norm or a softmax) have
	 * no digits */
	worst = fabs(sqrt(got) - norm) / (norm + 1e-5);
	for (int k = 0; sscanf(line + at, "%lf%n", &want, &used) == 1; k++, at += used) {
		int64_t i = rng_below(PICKS, rng_name(name), (uint64_t)k, n);
		double typical = norm / sqrt((double)n) + 1e-6;

		worst = worse(worst, fabs(g[i] - want) / fmax(fabs(want), typical));
	}
	free(g);
	return worst;
}

static void set_optimizer(struct lab *l, const char *line)
{
	char kind[16];
	double lr;

	if (sscanf(line, "optimizer %15s %lf", kind, &lr) != 2)
		return;
	l->optim = (struct optim){.lr = lr,
		.momentum = 0.9,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.eps = 1e-8,
		.decay = 0.01};
	for (int i = 0; optim_name[i]; i++)
		if (!strcmp(kind, optim_name[i]))
			l->optim.kind = (enum optim_kind)i;
}

static void compare(const char *name, const char *path, const struct backend *be)
{
	struct lab l;
	char line[512];
	double want, loss_error = INFINITY, worst = 0, drift = 0;
	int gradients = 0, steps = 0, trainable = 0, seed;
	FILE *file = fopen(path, "r");

	if (!file || !lab_open(&l, name, be)) {
		ok(false, "%s: the fixture and the network are there", name);
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "seed %d", &seed) == 1)
			set_weights(l.ps, (uint64_t)seed);
		set_optimizer(&l, line);
		if (sscanf(line, "loss %lf", &want) == 1)
			loss_error = fabs(step(&l, 0) / want - 1);
		if (!strncmp(line, "gradient ", 9)) {
			double e = gradient_error(&l, line);

			gradients++;
			if (e > 1e-3)
				printf("# %.60s: error %g\n", line, e);
			worst = worse(worst, e);
		}
		if (sscanf(line, "step %lf", &want) == 1 && be != &backend_reference) {
			double got = step(&l, steps % BATCHES);

			drift = worse(drift, fabs(got / want - 1));
			optim_step(&l.optim, l.ps, steps++, 1 / l.ctx.stats.count);
		}
	}
	fclose(file);
	for (int i = 0; i < l.ps->n; i++)
		trainable += l.ps->p[i]->trainable;
	ok(loss_error < 1e-4, "%s (%s): the loss is PyTorch's (%.1e)", name, be->name, loss_error);
	ok(worst < 1e-3 && gradients == trainable,
		"%s (%s): the gradients of %d parameters are (%.1e)", name, be->name, gradients,
		worst);
	if (be != &backend_reference)
		ok(drift < 0.01 && steps == 20, "%s: so are the losses of 20 steps (%.1e)", name,
			drift);
	lab_close(&l);
}

int main(int argc, char **argv)
{
	char path[4096];

	for (int i = 2; i < argc; i++) {
		snprintf(path, sizeof(path), "%s/%s.txt", argv[1], argv[i]);
		compare(argv[i], path, &backend_onednn);
		if (!strstr(argv[i], "50") &&
			!strstr(argv[i], "inception")) /* these take seconds there */
			compare(argv[i], path, &backend_reference);
	}
	return tap_done();
}
