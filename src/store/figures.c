/* figures.c: the views as rows. */
#include <math.h>
#include <string.h>

#include "store/internal.h"

/* clang-format off: one line of SQL a line, in the order of row_read */
static const char run_sql[] =
	"SELECT run_id, workload, domain, setting, block, work_unit, label, repeat, baseline, "
	"time_per_work_s, time_per_work_s, time_per_work_s, energy_per_work_j, edp_js, work_per_s, "
	"work_per_j, mean_w, NULL, NULL, id "
	"FROM run_figures WHERE ?1 = 0 OR campaign_id = ?1 ORDER BY id";
/* People read settings by number, not by text: 80W before 100W; the default, without one, first. */
static const char setting_sql[] =
	"SELECT run_id, workload, domain, setting, block, work_unit, label, n, baseline, "
	"time_per_work_s, time_min_s, time_max_s, energy_per_work_j, edp_js, work_per_s, "
	"1 / energy_per_work_j, mean_w, slowdown_pct, saving_pct, 0 "
	"FROM setting_figures WHERE ?1 = 0 OR campaign_id = ?1 "
	"ORDER BY campaign_id, workload, label, workers, block, power_limit_w, clock_max_mhz, "
	"cpu_rate_pct, setting";
/* clang-format on */

static double number(sqlite3_stmt *st, int col)
{
	return sqlite3_column_type(st, col) == SQLITE_NULL ? NAN : sqlite3_column_double(st, col);
}

static const char *text(sqlite3_stmt *st, int col)
{
	return (const char *)sqlite3_column_text(st, col);
}

static void row_read(sqlite3_stmt *st, struct figures *f)
{
	f->run_id = text(st, 0);
	f->workload = text(st, 1);
	f->domain = text(st, 2);
	f->setting = text(st, 3);
	f->block = text(st, 4);
	f->work_unit = text(st, 5);
	f->label = text(st, 6);
	f->repeat = sqlite3_column_int(st, 7);
	f->baseline = sqlite3_column_int(st, 8) != 0;
	f->time_s = number(st, 9);
	f->time_min_s = number(st, 10);
	f->time_max_s = number(st, 11);
	f->energy_j = number(st, 12);
	f->edp_js = number(st, 13);
	f->work_per_s = number(st, 14);
	f->work_per_j = number(st, 15);
	f->mean_w = number(st, 16);
	f->slowdown_pct = number(st, 17);
	f->saving_pct = number(st, 18);
	f->run = NULL;
}

enum status store_each_figures(struct store *s, enum figures_of of, int64_t campaign_id,
	bool (*fn)(void *arg, const struct figures *f), void *arg, struct err *e)
{
	sqlite3_stmt *st = NULL;
	struct figures f;
	bool more = true;
	int code = SQLITE_DONE;
	enum status r = sql_prepare(s, of == FIGURES_RUN ? run_sql : setting_sql, &st, e);

	if (r)
		return r;
	sqlite3_bind_int64(st, 1, campaign_id);
	while (!r && more && (code = sql_step(st)) == SQLITE_ROW) {
		struct run_rec rec;

		row_read(st, &f);
		if (of == FIGURES_RUN) {
			r = store_load(s, sqlite3_column_int64(st, 19), &rec, e);
			f.run = &rec;
		}
		if (!r)
			more = fn(arg, &f);
		if (of == FIGURES_RUN)
			run_rec_release(&rec);
	}
	if (!r && more && code != SQLITE_DONE)
		r = sql_fail(s, e, "cannot read");
	sqlite3_finalize(st);
	return r;
}
