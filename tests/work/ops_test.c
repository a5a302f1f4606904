/* ops_test.c: every operation of the onednn back end against the reference one, and the gradients
 * of the reference against finite differences of its losses. */
#include "tap.h"
#include "ops_cases.h"

/* One case in one back end: the net, its parameters and inputs, all filled from names. */
struct lab {
	struct params *ps;
	struct op_ctx ctx;
	struct arena arena;
	struct net *net;
	struct fault f;
};

/* Inputs are named "x", "apart" (±[½, 1]), "ranked" (all different, in no order), "index<N>"
 * (values −1 … N−1), "mask" (0 or 1), "label<N>" (as index). */
static void fill_input(struct tensor *t)
{
	int64_t n = tensor_count(t);
	uint64_t stream = rng_name(t->name);
	int range = 0;
	const char *digits = strpbrk(t->name, "0123456789");

	t->data = calloc((size_t)n, dtype_size(t->dt));
	if (t->dt == DT_I32 && digits)
		range = atoi(digits);
	for (int64_t i = 0; i < n; i++) {
		float u = 2 * rng_uniform(11, stream, (uint64_t)i) - 1;

		if (t->dt == DT_F32 && !strcmp(t->name, "apart"))
			tf(t)[i] = u / 2 + (u > 0 ? 0.5f : -0.5f);
		else if (t->dt == DT_F32 && !strcmp(t->name, "ranked"))
			tf(t)[i] = 3 * (float)(i * 37 % n) / (float)n - 1;
		else if (t->dt == DT_F32)
			tf(t)[i] = u;
		else if (range)
			ti(t)[i] = (int32_t)rng_below(11, stream, (uint64_t)i, range + 1) - 1;
		else
			ti(t)[i] = rng_uniform(11, stream, (uint64_t)i) < 0.8f;
	}
}

/* Moves every parameter off its initial value: ones and zeros would hide mistakes. */
static void shake(struct params *ps)
{
	float buf[4096];

	for (int k = 0; k < ps->n; k++) {
		struct param *p = ps->p[k];

		param_store(ps, p, buf);
		for (int64_t i = 0; i < tensor_count(&p->w); i++)
			buf[i] += 0.3f * rng_uniform(12, rng_name(p->name), (uint64_t)i);
		param_load(ps, p, buf);
	}
}

static bool want_bf16;

static bool lab_open(struct lab *l, const struct backend *be, const struct ops_case *c)
{
	*l = (struct lab){.ctx = {.seed = 5,
				  .n_local = 3,
				  .n_global = 3,
				  .loss_scale = 1,
				  .bf16 = want_bf16}};
	l->ps = params_new(be);
	l->net = net_new(be, l->ps, &l->ctx, &l->arena, !c->eval);
	c->build(l->net);
	if (net_plan(l->net, &l->f) || params_finish(l->ps, 0, 1 << 20, &l->f) ||
		params_init(l->ps, 3, &l->f) || net_place(l->net, &l->f))
		return false;
	shake(l->ps);
	for (int i = 0; i < l->net->n_inputs; i++)
		fill_input(l->net->input[i]);
	return true;
}

static void lab_close(struct lab *l)
{
	for (int i = 0; l->net && i < l->net->n_inputs; i++)
		free(l->net->input[i]->data);
	net_free(l->net);
	params_free(l->ps);
	arena_release(&l->arena);
}

/* Which operations, and which functions of them, a test has seen. */
struct seen {
	bool op[OP_COUNT], unary[UN_COUNT], binary[BIN_ADD_RELU + 1], segment[SEG_MEAN + 1];
};
static struct seen compared, differentiated;

static void see(struct seen *s, const struct net *n)
{
	for (int i = 0; i < n->n_nodes; i++) {
		const struct node *nd = n->node[i];

		s->op[nd->op] = true;
		if (nd->op == OP_UNARY)
			s->unary[nd->a.unary.f] = true;
		if (nd->op == OP_BINARY)
			s->binary[nd->a.binary.f] = true;
		if (nd->op == OP_SEGMENT)
			s->segment[nd->a.segment.f] = true;
	}
}

static int missing(const bool *seen, int n, const char *what)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		if (!seen[i]) {
			printf("# %s %d was not seen\n", what, i);
			count++;
		}
	return count;
}

static int unseen(const struct seen *s)
{
	return missing(s->op, OP_COUNT, "operation") + missing(s->unary, UN_COUNT, "function") +
	       missing(s->binary, BIN_ADD_RELU + 1, "function of two") +
	       missing(s->segment, SEG_MEAN + 1, "reduction");
}

static double lab_loss(struct lab *l)
{
	l->ctx.stats = (struct op_stats){0};
	net_forward(l->net);
	return l->ctx.stats.loss;
}

static void lab_backward(struct lab *l)
{
	params_begin_step(l->ps);
	net_backward(l->net, NULL, NULL);
}

/* largest difference relative to the largest value */
static double difference(const float *a, const float *b, int64_t n)
{
	double most = 1e-6, diff = 0;

	for (int64_t i = 0; i < n; i++) {
		most = fmax(most, fabs(a[i]));
		diff = fmax(diff,
			isfinite(a[i]) && isfinite(b[i]) ? fabs((double)a[i] - b[i]) : INFINITY);
	}
	return diff / most;
}

static double param_difference(struct lab *a, struct lab *b, int k, bool grad)
{
	static float x[4096], y[4096];
	struct param *p = a->ps->p[k], *q = b->ps->p[k];

	if (grad && !p->trainable)
		return 0;
	(grad ? param_store_grad : param_store)(a->ps, p, x);
	(grad ? param_store_grad : param_store)(b->ps, q, y);
	return difference(x, y, tensor_count(&p->w));
}

/* The worst difference over output, gradients of inputs and parameters, running statistics. */
static double compare(struct lab *a, struct lab *b, bool eval)
{
	double worst = 0;
	struct tensor *y = net_marked(a->net, "y"), *z = net_marked(b->net, "y");

	if (y)
		worst = difference(tf(y), tf(z), tensor_count(y));
	for (int i = 0; i < a->net->n_inputs && !eval; i++) {
		struct tensor *g = a->net->input[i]->grad, *h = b->net->input[i]->grad;

		if (g)
			worst = fmax(worst, difference(tf(g), tf(h), tensor_count(g)));
	}
	for (int k = 0; k < a->ps->n; k++)
		worst = fmax(worst, param_difference(a, b, k, !eval && a->ps->p[k]->trainable));
	return worst;
}

static bool has_product(const struct net *n)
{
	for (int i = 0; i < n->n_nodes; i++)
		switch (n->node[i]->op) {
		case OP_CONV:
		case OP_CONV_T:
		case OP_LINEAR:
		case OP_MATMUL:
		case OP_ATTENTION:
			return true;
		default:
			break;
		}
	return false;
}

/* With bf16 asked for, products change by its rounding (2⁻⁹ an operand) and nothing else does. */
static void test_bf16(const struct ops_case *c)
{
	struct lab a, b;
	double d = INFINITY;
	bool product = false;

	want_bf16 = true;
	if (lab_open(&b, &backend_reference, c)) {
		want_bf16 = false;
		if (lab_open(&a, &backend_reference, c)) {
			product = has_product(a.net);
			lab_loss(&a);
			lab_loss(&b);
			if (!c->eval) {
				lab_backward(&a);
				lab_backward(&b);
			}
			d = compare(&a, &b, c->eval);
		}
		lab_close(&a);
	}
	want_bf16 = false;
	if (!ok(product ? d > 1e-5 && d < 0.05 : d == 0, "%s: %s", c->name,
		    product ? "bf16 rounds its products" : "bf16 leaves it alone"))
		printf("# worst difference %g\n", d);
	lab_close(&b);
}

static void test_backends(const struct ops_case *c)
{
	struct lab a, b;
	double d = INFINITY, la = 0, lb = 1;

	if (lab_open(&a, &backend_reference, c) && lab_open(&b, &backend_onednn, c)) {
		see(&compared, b.net);
		la = lab_loss(&a);
		lb = lab_loss(&b);
		if (!c->eval) {
			lab_backward(&a);
			lab_backward(&b);
		}
		d = compare(&a, &b, c->eval);
	} else {
		printf("# %s%s\n", a.f.msg, b.f.msg);
	}
	if (!ok(d < 2e-5 && fabs(la - lb) <= 2e-5 * (1 + fabs(la)),
		    "%s: onednn equals the reference", c->name))
		printf("# worst difference %g, losses %.9g and %.9g\n", d, la, lb);
	lab_close(&a);
	lab_close(&b);
}

/* (L(v + e d) − L(v − e d)) / 2e against g·d along a direction d of ±1 from a hash. */
static double slope_error(struct lab *l, float *v, const float *g, int64_t n, uint64_t key)
{
	const float e = 4e-3f;
	float *old = malloc((size_t)n * sizeof(*old));
	double up, down, want = 0, size = 0;

	memcpy(old, v, (size_t)n * sizeof(*v));
	for (int64_t i = 0; i < n; i++) {
		float d = rng_u64(17, key, (uint64_t)i) & 1 ? 1 : -1;

		want += (double)g[i] * d;
		size += fabs(g[i]);
		v[i] = old[i] + e * d;
	}
	up = lab_loss(l);
	for (int64_t i = 0; i < n; i++)
		v[i] = old[i] - (v[i] - old[i]);
	down = lab_loss(l);
	memcpy(v, old, (size_t)n * sizeof(*v));
	free(old);
	up = fabs((up - down) / (2 * (double)e) - want) / (size + 1e-3);
	return isnan(up) ? INFINITY : up;
}

static void test_gradients(const struct ops_case *c)
{
	struct lab l;
	double worst = 0;

	if (c->eval || c->kinked)
		return;
	if (!lab_open(&l, &backend_reference, c)) {
		ok(false, "%s: %s", c->name, l.f.msg);
		lab_close(&l);
		return;
	}
	see(&differentiated, l.net);
	for (int i = 0; i < l.net->n_inputs; i++) {
		struct tensor *t = l.net->input[i];
		int64_t n = tensor_count(t);
		float *g;

		if (!t->grad)
			continue;
		lab_loss(&l); /* the losses below reuse the memory of gradients */
		lab_backward(&l);
		g = malloc((size_t)n * sizeof(*g));
		memcpy(g, t->grad->data, (size_t)n * sizeof(*g));
		worst = fmax(worst, slope_error(&l, tf(t), g, n, (uint64_t)i));
		free(g);
	}
	lab_loss(&l);
	lab_backward(&l);
	for (int k = 0; k < l.ps->n; k++)
		if (l.ps->p[k]->trainable)
			worst = fmax(
				worst, slope_error(&l, tf(&l.ps->p[k]->w), tf(&l.ps->p[k]->g),
					       tensor_count(&l.ps->p[k]->w), 100 + (uint64_t)k));
	if (!ok(worst < 3e-3, "%s: the gradient is the slope of the loss", c->name))
		printf("# worst error %g\n", worst);
	lab_close(&l);
}

static void scores_and_labels(struct net *n)
{
	struct tensor *x = net_input(n, "x", DT_F32, DIMS(1, 3, 2, 2));

	nn_xent(n, x, net_input(n, "label3", DT_I32, DIMS(1, 2, 2)), (struct args_xent){0});
}

/* Four pixels of three classes: labels 0 0 1 none, taken for 0 1 1 2. */
static void test_overlap(void)
{
	static const float score[12] = {9, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0, 9};
	static const int32_t label[4] = {0, 0, 1, -1};
	const struct ops_case c = {"labelled image", scores_and_labels};
	struct lab l;

	if (lab_open(&l, &backend_onednn, &c)) {
		memcpy(l.net->input[0]->data, score, sizeof(score));
		memcpy(l.net->input[1]->data, label, sizeof(label));
		lab_loss(&l);
		is_near(l.ctx.stats.overlap[0] / l.ctx.stats.either[0], 0.5, 0,
			"a class of two pixels, one found");
		is_near(l.ctx.stats.overlap[1] / l.ctx.stats.either[1], 0.5, 0,
			"a class of one pixel, two taken for it");
		is_near(l.ctx.stats.either[2], 0, 0, "a pixel without label counts for none");
		is_near(l.ctx.stats.metric, 2, 0, "two pixels are right");
	}
	lab_close(&l);
}

static void many_classes(struct net *n)
{
	struct tensor *x = net_input(n, "x", DT_F32, DIMS(1, STAT_CLASSES, 1, 2));

	nn_xent(n, x, net_input(n, "label3", DT_I32, DIMS(1, 1, 2)), (struct args_xent){0});
}

static void too_many_classes(struct net *n)
{
	struct tensor *x = net_input(n, "x", DT_F32, DIMS(1, STAT_CLASSES + 1, 1, 2));

	nn_xent(n, x, net_input(n, "label3", DT_I32, DIMS(1, 1, 2)), (struct args_xent){0});
}

/* Two pixels of as many classes as a mask may have, both taken for the last one, which one is. */
static void test_last_class(void)
{
	const struct ops_case c = {"many classes", many_classes};
	const struct ops_case more = {"too many classes", too_many_classes};
	struct lab l;

	if (lab_open(&l, &backend_onednn, &c)) {
		tf(l.net->input[0])[2 * STAT_CLASSES - 2] = 9;
		tf(l.net->input[0])[2 * STAT_CLASSES - 1] = 9;
		ti(l.net->input[1])[0] = STAT_CLASSES - 1;
		ti(l.net->input[1])[1] = 40;
		lab_loss(&l);
		is_near(l.ctx.stats.overlap[STAT_CLASSES - 1], 1, 0, "the last class has a pixel");
		is_near(l.ctx.stats.either[STAT_CLASSES - 1], 2, 0, "... and two taken for it");
		is_near(l.ctx.stats.either[40], 1, 0, "a class that was missed counts, too");
	}
	lab_close(&l);
	ok(!lab_open(&l, &backend_onednn, &more) && strstr(l.f.msg, "classes of pixels"),
		"more classes of pixels than are counted are refused");
	lab_close(&l);
}

int main(void)
{
	test_overlap();
	test_last_class();
	for (const struct ops_case *c = ops_cases; c->name; c++) {
		test_gradients(c);
		test_backends(c);
		test_bf16(c);
	}
	is_int(unseen(&compared), 0, "every operation of the fast back end has been compared");
	differentiated.op[OP_REORDER] = true; /* the reference back end has one layout */
	is_int(unseen(&differentiated), 0, "and every gradient has been held against a slope");
	return tap_done();
}
