/* record_series.c: the time series and marks that go with a record, thinned. See record_build.h. */
#include <stdio.h>
#include "measure/build_int.h"

#define MAX_MARKS 4096

static size_t series_size(const struct build *b, const struct build_window *w)
{
	size_t total = 0;

	for (size_t i = 0; i < b->n_dev; i++)
		for (int ch = 0; ch < CH_COUNT; ch++)
			for (size_t k = 0; k < b->dev[i].track[ch].n; k++) {
				int64_t t = b->dev[i].track[ch].p[k].t_ns;

				total += b->dev[i].on && t >= w->t0_ns && t <= w->t1_ns;
			}
	return total;
}

bool build_fill_series(const struct build *b, const struct build_window *w, struct run_rec *rec)
{
	size_t every = series_size(b, w) / BUILD_SERIES + 1;
	int32_t dev = 0;

	for (size_t i = 0; i < b->n_dev; i++) {
		if (!b->dev[i].on)
			continue;
		for (int ch = 0; ch < CH_COUNT; ch++) {
			const struct track *k = &b->dev[i].track[ch];
			size_t seen = 0;

			for (size_t j = 0; j < k->n; j++) {
				struct sample_rec s = {.dev = dev,
					.channel = ch,
					.t_ns = k->p[j].t_ns - w->t0_ns,
					.value = k->p[j].value,
					.st = ST_OK};

				if (s.t_ns < 0 || k->p[j].t_ns > w->t1_ns || seen++ % every)
					continue;
				if (!run_rec_sample(rec, &s))
					return false;
			}
		}
		dev++;
	}
	return true;
}

static bool add_mark(const struct build_window *w, struct run_rec *rec, int rank,
	enum mark_kind kind, int64_t t, double value, const char *text)
{
	struct mark_rec m = {
		.rank = rank, .kind = (int32_t)kind, .t_ns = t - w->t0_ns, .value = value};

	if (t < w->t0_ns || t > w->t1_ns || rec->n_marks >= MAX_MARKS)
		return true;
	snprintf(m.text, sizeof(m.text), "%s", text);
	return run_rec_mark(rec, &m);
}

bool build_fill_marks(const struct build *b, const struct build_window *w, struct run_rec *rec)
{
	const struct build_rank *first = first_rank(b);
	size_t every;
	int rank;

	if (!first)
		return true;
	rank = first->rank >= 0 ? first->rank : 0;
	for (size_t i = 0; i < b->n_phase; i++) {
		const struct build_phase *p = &b->phase[i];

		if (!add_mark(w, rec, rank, MARK_PHASE_BEGIN, p->t0_ns, p->depth, p->name) ||
			(p->t1_ns != INT64_MAX && !add_mark(w, rec, rank, MARK_PHASE_END, p->t1_ns,
							  p->depth, p->name)))
			return false;
	}
	for (size_t i = 0; i < b->n_epoch; i++)
		if (!add_mark(w, rec, rank, MARK_EPOCH, b->epoch[i].t_ns, (double)(i + 1), ""))
			return false;
	every = b->n_loss / (MAX_MARKS / 4) + 1;
	for (size_t i = 0; i < b->n_loss; i += every)
		if (!add_mark(w, rec, rank, MARK_LOSS, b->loss[i].t_ns, b->loss[i].value, ""))
			return false;
	every = first->n / (MAX_MARKS / 4) + 1;
	for (size_t i = 0; i < first->n; i += every)
		if (!add_mark(w, rec, rank, MARK_STEP, first->end[i].t_ns,
			    (double)first->end[i].steps, ""))
			return false;
	return true;
}
