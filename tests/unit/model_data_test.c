/* model_data_test.c: published sweeps give the published figures (WATTLAW_DATA, else
 * ../shared/data beside the source).
 */
#include "tap.h"

#include "base/csv.h"
#include "model/model.h"

#define MAX 64

static struct obs o[MAX];
static size_t n;

/* Rows of one workload and batch on a V100. */
static bool read_rows(
	const char *path, const char *source, const char *workload, const char *config)
{
	struct csv c;
	struct err e = ERR_INIT;
	int w, k, g, p, t, m, j, src, gpus;

	n = 0;
	if (csv_open_file(&c, path, ',', &e))
		return false;
	w = csv_column(&c, "workload");
	k = csv_column(&c, "config");
	g = csv_column(&c, "gpu");
	p = csv_column(&c, "power_limit_w");
	src = csv_column(&c, "source");
	gpus = csv_column(&c, "n_gpus");
	t = csv_column(&c, "time_s");
	m = csv_column(&c, "mean_power_w");
	j = csv_column(&c, "energy_j");
	while (n < MAX && csv_next(&c, &e) == ST_OK) {
		struct obs *r = &o[n];

		if (strcmp(csv_text(&c, src), source) || strcmp(csv_text(&c, w), workload) ||
			strcmp(csv_text(&c, k), config) || strcmp(csv_text(&c, g), "V100"))
			continue;
		*r = (struct obs){.x = {1, NAN, NAN, NAN}};
		csv_double(&c, gpus, &r->x[FACTOR_WORKERS], NULL);
		csv_double(&c, p, &r->x[FACTOR_POWER_LIMIT], NULL);
		csv_double(&c, t, &r->y[QTY_TIME], NULL);
		csv_double(&c, m, &r->y[QTY_POWER], NULL);
		csv_double(&c, j, &r->y[QTY_ENERGY], NULL);
		r->is_default = r->x[FACTOR_POWER_LIMIT] == 250 && r->x[FACTOR_WORKERS] == 1;
		n++;
	}
	csv_release(&c);
	return n > 0;
}

/* The measured cap of least energy, its energy and time relative to 250 W; and what the laws say.
 */
static void golden(const char *path, const char *name, const char *workload, const char *config,
	double slope, double r2, double cap, double energy, double slow)
{
	struct err e = ERR_INIT;
	struct model *m = NULL;
	const struct model_series *s;
	const struct fit *f;
	double best = INFINITY, at = NAN, time = NAN, base_e = NAN, base_t = NAN, law_at = NAN,
	       law_best = INFINITY;

	if (!ok(read_rows(path, "zeus_trace", workload, config) &&
			    model_fit_workload(o, n, NULL, &m, &e) == ST_OK,
		    "%s: %zu rows are fitted", name, n))
		return;
	s = model_series_of(m, FACTOR_POWER_LIMIT, QTY_TIME);
	f = &s->sel.fits[s->sel.power];
	is_near(f->sh.p[1], slope, 0.005, "its published exponent");
	if (r2 > 0)
		is_near(f->r2_log, r2, 0.005, "its published R2 in log space");
	for (size_t i = 0; i < n; i++) {
		if (o[i].is_default) {
			base_e = o[i].y[QTY_ENERGY];
			base_t = o[i].y[QTY_TIME];
		}
		if (o[i].y[QTY_ENERGY] < best) {
			best = o[i].y[QTY_ENERGY];
			time = o[i].y[QTY_TIME];
			at = o[i].x[FACTOR_POWER_LIMIT];
		}
	}
	is_near(at, cap, 0, "its cap of least energy");
	is_near(best / base_e, energy, 0.0015, "the energy there");
	is_near(time / base_t, slow, 0.0015, "the time there");
	/* and the laws find that cap among the tested ones */
	for (double c = 100; c <= 250; c += 25) {
		struct answer a;
		const double x[FACTOR_COUNT] = {NAN, c, NAN, NAN};

		if (model_predict(m, x, &a, &e) == ST_OK && a.y[QTY_ENERGY].value < law_best) {
			law_best = a.y[QTY_ENERGY].value;
			law_at = c;
		}
	}
	is_near(law_at, cap, 0, "the laws have their least energy at the same cap");
	ok(s->sel.verdict == VERDICT_SENSITIVE, "time is sensitive to the cap");
	model_release(m);
}

/* Time of the row at that setting. */
static double time_at(double workers, double cap)
{
	for (size_t i = 0; i < n; i++)
		if (o[i].x[FACTOR_WORKERS] == workers && o[i].x[FACTOR_POWER_LIMIT] == cap)
			return o[i].y[QTY_TIME];
	return NAN;
}

/* Two GPUs at 100 W from everything else: the product of laws learnt on one GPU is off by `miss`.
 */
static void interplay(const char *path, const char *name, double miss)
{
	const double base[FACTOR_COUNT] = {1, 250, NAN, NAN}, x[FACTOR_COUNT] = {2, 100, NAN, NAN};
	double truth, product, t;
	struct joint j;
	struct err e = ERR_INIT;
	size_t k = 0;

	if (!ok(read_rows(path, "zeus_profile", name, "") && n == 14,
		    "%s: seven caps on one and on two GPUs", name))
		return;
	truth = time_at(2, 100);
	product = time_at(1, 100) * time_at(2, 250) / time_at(1, 250);
	is_near(product / truth - 1, miss, 0.01,
		"the product of separate laws is off as published");
	for (size_t i = 0; i < n; i++)
		if (o[i].x[FACTOR_WORKERS] != 2 || o[i].x[FACTOR_POWER_LIMIT] != 100)
			o[k++] = o[i];
	if (!ok(joint_fit(o, k, base, &j, &e) == ST_OK,
		    "the joint law is fitted to the other 13 (%s)", e.msg))
		return;
	joint_eval(&j, x, &t, NULL);
	ok(fabs(t / truth - 1) < miss / 2, "and is off by less than half of that (%.1f %%)",
		100 * (t / truth - 1));
}

int main(void)
{
	const char *dir = getenv("WATTLAW_DATA");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/power_clock.csv",
		dir ? dir : TEST_SOURCE_ROOT "/../shared/data");
	f = fopen(path, "r");
	if (!f) {
		tap_skip(23, "no measured data (WATTLAW_DATA)");
		return tap_done();
	}
	fclose(f);
	golden(path, "ResNet-50 on ImageNet, batch 256", "imagenet/resnet50",
		"batch=256;opt=adadelta", -0.690, 0.894, 150, 0.775, 1.180);
	golden(path, "BERT on SQuAD, batch 32", "squad/bert_base_uncased", "batch=32;opt=adamw",
		-0.794, 0, 150, 0.822, 1.281);
	interplay(path, "resnet50", 0.13);
	interplay(path, "resnet18", 0.56);
	return tap_done();
}
