/* fit_keep.c: see fit_keep.h. */
#include "cmd/fit_keep.h"

#include "base/mem.h"
#include "record/record_json.h"

#define ROWS_MAX ((size_t)1 << 20)

static struct law_row row_of(const struct law_series *s, const struct fit *f, bool selected)
{
	return (struct law_row){.workload = s->group->workload,
		.domain = s->group->domain,
		.group = s->group->where,
		.at = s->where,
		.quantity = quantity_name(s->quantity),
		.per = s->group->work_unit,
		.factor = factor_name(s->factor),
		.family = f->law->name,
		.formula = f->law->formula,
		.verdict = verdict_name(s->sel->verdict),
		.note = f->note[0] ? f->note : NULL,
		.label = s->group->label,
		.source = s->group->source,
		.version = WATTLAW_VERSION,
		.at_baseline = s->at_baseline,
		.selected = selected,
		.n = f->n,
		.n_runs = (int64_t)s->n,
		.x_min = f->x_min,
		.x_max = f->x_max,
		.r2_log = f->r2_log,
		.mape_pct = f->mape_pct,
		.loo_pct = f->loo_pct,
		.sigma_log = f->sigma,
		.n_params = f->law->n_shown,
		.names = (const char *const *)f->law->params,
		.value = f->sh.p,
		.ci95 = f->ci95,
		.cov = f->has_cov ? &f->cov[0][0] : NULL,
		.cov_stride = LAW_MAX_PARAMS};
}

enum status fit_keep(
	const char *path, int64_t campaign_id, const struct law_set *laws, struct err *e)
{
	struct law_row *rows = NULL;
	struct store *store = NULL;
	size_t n = 0, cap = 0;
	enum status st = ST_OK;

	for (size_t i = 0; i < laws->n_series && st == ST_OK; i++) {
		const struct law_series *s = &laws->series[i];

		for (unsigned k = 0; s->sel && k < s->sel->n_fits; k++) {
			if (s->sel->fits[k].st != ST_OK)
				continue;
			if (!mem_grow((void **)&rows, &cap, n + 1, sizeof(*rows), ROWS_MAX)) {
				st = err_set(e, ST_NOMEM, "out of memory");
				break;
			}
			rows[n++] = row_of(s, &s->sel->fits[k], (int)k == s->sel->best);
		}
	}
	if (st == ST_OK)
		st = store_open(path, true, &store, e);
	if (st == ST_OK)
		st = store_put_laws(store, campaign_id, rows, n, e);
	store_close(store);
	mem_free(rows);
	return st;
}
