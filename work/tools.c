/* tools.c: the list of networks, and text from a language model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/text.h"
#include "ops/rng.h"
#include "tools.h"

struct facts {
	int64_t parameters, batch;
	double flops; /* of a training step, per sample: forward and twice that for backward */
};

/* Builds the network for one generated batch, in the reference back end: that prepares nothing. */
static int facts_of(const struct model *m, int size, struct facts *out, struct fault *f)
{
	struct model_cfg cfg = m->size[size].cfg;
	struct data_spec spec = {.kind = m->data, .seed = 1};
	struct params *ps = params_new(&backend_reference);
	struct op_ctx ctx = {0};
	struct arena arena = {0};
	struct net *n = ps ? net_new(&backend_reference, ps, &ctx, &arena, true) : NULL;
	struct data d = {0};
	struct batch b = {.n_samples = 2, .n_global = 2};
	int rc = -1;

	cfg.size = (enum size)size;
	m->data_spec(&cfg, &spec);
	if (!n) {
		fault_set(f, "out of memory");
		goto out;
	}
	if (data_open(&d, &spec, f) || d.ops->fill(&d, (const int64_t[]){0, 1}, 2, 0, false, &b, f))
		goto out;
	cfg.data = d.info;
	m->build(n, &cfg, &b);
	if (net_plan(n, f))
		goto out;
	for (int i = 0; i < ps->n; i++)
		out->parameters += ps->p[i]->trainable ? tensor_count(&ps->p[i]->w) : 0;
	out->flops = 3 * net_flops(n) / (double)b.n_samples;
	out->batch = m->size[size].batch;
	rc = 0;
out:
	batch_release(&b);
	data_close(&d);
	net_free(n);
	params_free(ps);
	return rc;
}

int tools_list(const struct options *o, struct fault *f)
{
	if (!o->json)
		printf("%-13s %-10s %-30s %6s %12s %14s %15s\n", "network", "domain", "tasks",
			"batch", "parameters", "flop/sample", "gradient bytes");
	for (int i = 0; models[i]; i++) {
		const struct model *m = models[i];
		struct facts a = {0};
		char tasks[64];

		if (facts_of(m, o->size, &a, f))
			return -1;
		snprintf(tasks, sizeof(tasks), "%s%s%s", m->task, m->other_task ? ", " : "",
			m->other_task ? m->other_task : "");
		if (o->json)
			printf("{\"schema\":\"wattlaw.network/"
			       "1\",\"network\":\"%s\",\"domain\":\"%s\",\"tasks\":\"%s\","
			       "\"size\":\"%s\",\"batch\":%lld,\"parameters\":%lld,\"flops_per_"
			       "sample\":%.6g,"
			       "\"gradient_bytes\":%lld}\n",
				m->name, m->domain, tasks, size_name[o->size], (long long)a.batch,
				(long long)a.parameters, a.flops, (long long)a.parameters * 4);
		else
			printf("%-13s %-10s %-30s %6lld %12lld %14.4g %15lld\n", m->name, m->domain,
				tasks, (long long)a.batch, (long long)a.parameters, a.flops,
				(long long)a.parameters * 4);
	}
	return 0;
}

/* A number drawn from softmax(scores). */
static int32_t draw(const float *score, int64_t n, float u)
{
	double max = -INFINITY, sum = 0, at = 0;

	for (int64_t i = 0; i < n; i++)
		max = score[i] > max ? score[i] : max;
	for (int64_t i = 0; i < n; i++)
		sum += exp(score[i] - max);
	for (int64_t i = 0; i < n; i++) {
		at += exp(score[i] - max) / sum;
		if (u < at)
			return (int32_t)i;
	}
	return (int32_t)n - 1;
}

static void print_token(const struct vocab *v, int32_t token)
{
	char buf[2];

	if (v)
		printf("%s%s", vocab_text(v, token, buf), vocab_spaced(v) ? " " : "");
	else
		printf("%d ", token);
}

/* The window holds the last seq tokens; each new token is drawn from the scores behind the last
 * one. */
int tools_sample(struct trainer *t, struct fault *f)
{
	int64_t seq = t->data.info.seq, vocab = t->data.info.vocab, len = 1;
	struct batch b = {.n_samples = 1, .n_global = 1};
	int32_t *ids = batch_array(&b, "ids", DT_I32, 2, (const int64_t[]){1, seq});
	int32_t *pos = batch_array(&b, "position", DT_I32, 2, (const int64_t[]){1, seq});
	int32_t *label = batch_array(&b, "label", DT_I32, 2, (const int64_t[]){1, seq});
	struct net *n = ids && pos && label ? trainer_net(t, &b, false, f) : NULL;
	struct tensor *logits = n ? net_marked(n, "logits") : NULL;

	if (!logits) {
		batch_release(&b);
		return fault_set(f, "%s does not write text", t->model->name);
	}
	for (int64_t i = 0; i < seq; i++) {
		pos[i] = (int32_t)i;
		label[i] = -1;
	}
	ids[0] = t->data.info.special + (data_vocab(&t->data) ? '\n' : 0);
	ids[0] = ids[0] < vocab ? ids[0] : t->data.info.special;
	for (int i = 0; i < b.n; i++)
		net_bind(n, b.a[i].name, b.a[i].data);
	for (int64_t i = 0; i < t->o->sample; i++) {
		int32_t next;

		net_forward(n);
		next = draw(tf(logits) + (len - 1) * vocab, vocab,
			rng_uniform((uint64_t)t->o->seed, 0x5a3, (uint64_t)i));
		print_token(data_vocab(&t->data), next);
		if (len == seq)
			memmove(ids, ids + 1, (size_t)(seq - 1) * sizeof(*ids));
		else
			len++;
		ids[len - 1] = next;
	}
	printf("\n");
	batch_release(&b);
	return 0;
}
