/* plan.c: a sweep file is refused with its place, or gives points whose keys are all different. */
#include "fuzz.h"

#include "sweep/plan.h"

#define LOOK 60 /* points looked at; a plan may have a million */

static void look(const struct plan *p)
{
	size_t n = p->n_points < LOOK ? p->n_points : LOOK;
	struct str keys[LOOK];
	struct err e = ERR_INIT;

	for (size_t i = 0; i < n; i++) {
		struct plan_buf buf;
		struct point point;

		keys[i] = STR_INIT;
		plan_point_key(p, i, &keys[i]);
		must(keys[i].len > 0);
		for (size_t j = 0; j < i; j++)
			must(strcmp(keys[i].p, keys[j].p) != 0);
		if (plan_point(p, i, &buf, &point, &e) == ST_OK)
			plan_point_release(&buf);
	}
	for (size_t i = 0; i < n; i++)
		str_release(&keys[i]);
	must(plan_length_ns(p, 1000) >= 0);
	must(plan_max_workers(p) >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct plan p;
	enum status st;

	if (size > 4096)
		return 0;
	plan_init(&p);
	st = plan_read_text(&p, "f", (const char *)data, size, &e);
	if (!st)
		st = plan_finish(&p, 7, &e);
	if (!st)
		look(&p);
	else
		must(e.st == st && e.msg[0]);
	plan_release(&p);
	return 0;
}
