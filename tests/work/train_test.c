/* train_test.c: training as a whole: the loss falls, back ends agree, accumulation and resume are
 * exact. */
#include <unistd.h>
#include "tap.h"
#include "nn/checkpoint.h"
#include "trainer.h"

static bool open_with(struct trainer *t, struct options *o, char **argv, struct fault *f)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return !options_parse(o, argc, argv, f) && !trainer_start(t, o, f) && !trainer_load(t, f);
}

#define ARGS(...)                                                                                  \
	(char *[])                                                                                 \
	{                                                                                          \
		"wl-train", __VA_ARGS__, "--comm", "none", NULL                                    \
	}

/* Losses of n steps; returns how many were made. */
static int train(char **argv, double *loss, int n, const char *save)
{
	struct trainer t = {0};
	struct options o;
	struct fault f = {0};
	struct result r;
	int k = 0;

	if (open_with(&t, &o, argv, &f))
		while (k < n && !trainer_step(&t, &r, &f))
			loss[k++] = r.loss;
	if (save && !f.set)
		trainer_save(&t, save, &f);
	if (f.set)
		printf("# %s\n", f.msg);
	trainer_close(&t);
	return k;
}

static double mean(const double *v, int n)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += v[i];
	return s / n;
}

static void test_learning(const struct model *m)
{
	static double loss[300];
	char name[32];
	bool graphs = !strcmp(m->domain, "chemistry"); /* quick steps, slower to show */
	int want = graphs ? 300 : 80, n;

	snprintf(name, sizeof(name), "%s", m->name);
	n = train(ARGS(name, "--dropout", "0"), loss, want, NULL);
	if (!ok(n == want && mean(loss + want - 15, 15) < 0.95 * mean(loss, 15),
		    "%s: the loss falls", m->name))
		printf("# %d steps, from %g to %g\n", n, mean(loss, 15),
			mean(loss + want - 15, 15));
}

static void test_backends(const struct model *m)
{
	double a[2] = {0}, b[2] = {1, 1};
	char name[32];
	/* inception ends in 1×1 images here: the variance of two samples would magnify rounding,
	 * and that of eight does in backward: its step is compared node by node in twins_test.c */
	bool delicate = !strcmp(m->name, "inception_v3");
	char *batch = delicate ? "8" : "2";

	snprintf(name, sizeof(name), "%s", m->name);
	train(ARGS(name, "--batch", batch, "--lr", "1e-4"), a, 2, NULL);
	train(ARGS(name, "--batch", batch, "--lr", "1e-4", "--backend", "reference"), b, 2, NULL);
	is_near(a[0] / b[0], 1, 1e-5, m->name);
	if (!delicate)
		is_near(a[1] / b[1], 1, 2e-3, "... and after a step");
}

/* Largest difference of two checkpoints' values relative to each parameter's largest value. */
static double apart(const char *p, const char *q)
{
	struct checkpoint a, b;
	struct fault f = {0};
	double worst = 0;

	if (checkpoint_read(p, &a, &f) || checkpoint_read(q, &b, &f) || a.n != b.n) {
		printf("# %s\n", f.msg);
		return INFINITY;
	}
	for (int64_t k = 0; k < a.n; k++)
		for (int s = 0; s <= a.e[k].n_state; s++) {
			const float *x = a.e[k].data[s], *y = b.e[k].data[s];
			double most = 1e-6, diff = 0;

			for (int64_t i = 0; i < a.e[k].count; i++) {
				most = fmax(most, fabs(x[i]));
				diff = fmax(diff, fabs((double)x[i] - y[i]));
			}
			worst = fmax(worst, diff / most);
		}
	checkpoint_release(&a);
	checkpoint_release(&b);
	return worst;
}

static void test_accumulate(const char *a, const char *b)
{
	double l1[2], l2[2];

	train(ARGS("bert", "--dropout", "0", "--batch", "8", "--optimizer", "sgd", "--lr", "0.1"),
		l1, 2, a);
	train(ARGS("bert", "--dropout", "0", "--batch", "4", "--accumulate", "2", "--optimizer",
		      "sgd", "--lr", "0.1"),
		l2, 2, b);
	is_near(l1[1] / l2[1], 1, 1e-5, "two accumulated batches have the loss of one of both");
	is_near(apart(a, b), 0, 1e-4, "... and give the same parameters");
}

#define SIX_STEPS(...)                                                                             \
	(char *[])                                                                                 \
	{                                                                                          \
		"wl-train", __VA_ARGS__, "--seed", "3", "--steps", "6", "--comm", "none", NULL,    \
			NULL, NULL                                                                 \
	}

/* Six steps at once, and three and three; argv has room for --resume. */
static void test_resume(char **argv, const char *what, const char *a, const char *b)
{
	double l1[6] = {0}, l2[6] = {1};
	int end = 0;

	train(argv, l1, 6, a);
	train(argv, l2, 3, b);
	while (argv[end])
		end++;
	argv[end] = "--resume";
	argv[end + 1] = (char *)(uintptr_t)b;
	train(argv, l2 + 3, 3, b);
	ok(!memcmp(l1, l2, sizeof(l1)), "%s: a resumed run has the same losses to the last bit",
		what);
	is_near(apart(a, b), 0, 0, "... and the same parameters and optimizer state");
}

static void test_resumes(const char *a, const char *b)
{
	test_resume(SIX_STEPS("bert"), "AdamW with dropout", a, b);
	test_resume(SIX_STEPS("gpt2", "--schedule", "cosine", "--warmup", "2", "--clip", "0.5"),
		"cosine after a warm-up, clipped", a, b);
	test_resume(SIX_STEPS("resnet18", "--schedule", "linear"),
		"SGD, linear, running statistics", a, b);
	test_resume(SIX_STEPS("unet", "--optimizer", "adam", "--accumulate", "2"),
		"Adam, two batches a step", a, b);
	test_resume(SIX_STEPS("pna"), "graphs of many sizes", a, b);
	/* the seventh batch begins an epoch */
	test_resume(SIX_STEPS("schnet", "--batch", "2048"), "into the second epoch", a, b);
}

static void test_damaged(const char *a)
{
	double l[1];
	struct checkpoint c;
	struct fault f = {0}, g = {0};
	FILE *file;

	train(ARGS("bert"), l, 1, a);
	if (truncate(a, 100000))
		printf("# cannot truncate\n");
	ok(checkpoint_read(a, &c, &f) && strstr(f.msg, "truncated"),
		"a truncated checkpoint is refused");
	train(ARGS("bert"), l, 1, a);
	file = fopen(a, "r+b");
	fseek(file, 50000, SEEK_SET);
	fputc(0x5a, file);
	fclose(file);
	ok(checkpoint_read(a, &c, &g) && strstr(g.msg, "damaged"), "one wrong byte is found");
}

static void test_nan(void)
{
	double loss[50];

	ok(train(ARGS("resnet18", "--lr", "1e6"), loss, 50, NULL) < 50,
		"a loss that is not finite stops the run");
}

int main(void)
{
	char dir[] = "/tmp/wl-train-test-XXXXXX", a[64], b[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	for (int i = 0; models[i]; i++)
		test_learning(models[i]);
	printf("# networks whose first loss is the same in both back ends:\n");
	for (int i = 0; models[i]; i++)
		test_backends(models[i]);
	test_accumulate(a, b);
	test_resumes(a, b);
	test_damaged(a);
	test_nan();
	unlink(a);
	unlink(b);
	rmdir(dir);
	return tap_done();
}
