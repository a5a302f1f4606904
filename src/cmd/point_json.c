/* point_json.c: see point_json.h. */
#include "cmd/point_json.h"

#include <math.h>

static double per_second(struct qty n, struct qty ns)
{
	return n.st == ST_OK && ns.st == ST_OK && ns.v > 0 ? (double)n.v * 1e9 / (double)ns.v : NAN;
}

json_t *point_json(const struct run_rec *r)
{
	const struct train_rec *t = &r->train;
	json_t *warnings = json_array();
	double rate = per_second(t->window_steps, t->window_ns);

	for (size_t i = 0; i < r->n_warnings && warnings; i++)
		if (json_array_append_new(warnings, json_text(r->warnings[i]))) {
			json_decref(warnings);
			return NULL;
		}
	/* "o" takes each new reference, also when packing fails. */
	return json_pack(
		"{s:s,s:o,s:o,s:o,s:b,s:i,s:i,s:s,s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:s,s:o}",
		"schema", "wattlaw.point/1", "campaign", json_text(r->campaign), "workload",
		json_text(r->workload), "setting", json_setting(r->axes, r->n_axes), "baseline",
		r->baseline, "repeat", r->repeat, "order", r->order, "status",
		run_state_name(r->state), "run_id", json_text(r->run_id), "launch",
		json_text(r->launch), "exit_code",
		r->exit_code < 0 ? json_null() : json_integer(r->exit_code), "simulated",
		r->simulated, "wall_s", json_qty(r->wall_ns, UNIT_TIME), "steps",
		json_qty(t->window_steps, UNIT_NONE), "step_s", json_number(1 / rate),
		"samples_per_s", json_number(per_second(t->window_samples, t->window_ns)),
		"energy_j", json_qty(r->energy_uj, UNIT_ENERGY), "energy_method",
		energy_method_name(r->method), "warnings", warnings);
}
