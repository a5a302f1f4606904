/* sim_state.c: `wattlaw sim state`, `wattlaw sim profiles`: what the simulator knows. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "sim/profile.h"
#include "sim/world.h"

struct state_opts {
	bool json;
};

static const struct opt state_table[] = {
	{.type = OPT_FLAG,
		.name = "json",
		.offset = offsetof(struct state_opts, json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help state_help = {
	.usage = "wattlaw sim state [--json] [DIR]",
	.summary = "The truth about the simulated GPUs: power, energy, knobs, jobs, and which NVML "
		   "calls were made.",
	.more = "DIR is the directory given to `wattlaw sim exec --dir`; inside `sim exec` it is "
		"not "
		"needed.\nUnlike NVML this is not what sensors say but what is.\n",
};

static json_t *device_json(const struct world *w, const struct scenario *s, int i)
{
	const struct sim_dev *d = &w->dev[i];
	const struct gpu_state *g = &d->g;
	json_t *o = json_object();

	json_object_set_new(o, "index", json_integer(i));
	json_object_set_new(o, "uuid", json_string(s->gpu[i].uuid));
	json_object_set_new(o, "name", json_string(g->prof.model));
	json_object_set_new(o, "power_w", json_real(g->now.power_mw / 1000));
	json_object_set_new(o, "energy_j", json_real(g->energy_uj / 1e6));
	json_object_set_new(o, "clock_mhz", json_real(g->now.clock_khz / 1000));
	json_object_set_new(o, "temp_c", json_real(g->temp_c));
	json_object_set_new(o, "power_limit_w", json_real((double)g->limit_mw / 1000));
	json_object_set_new(o, "enforced_limit_w", json_real((double)gpu_limit(g) / 1000));
	json_object_set_new(o, "clock_lock_mhz",
		g->lock_hi_khz ? json_pack("[f,f]", (double)g->lock_lo_khz / 1000,
					 (double)g->lock_hi_khz / 1000)
			       : json_null());
	json_object_set_new(o, "lost", json_boolean(d->lost));
	json_object_set_new(o, "steps", json_real(g->work));
	json_object_set_new(
		o, "pid", d->job > 0 ? json_integer(w->job[d->job - 1].pid[0]) : json_null());
	return o;
}

static void print_json(struct world_map *m, const struct world *w)
{
	const struct scenario *s = world_scenario(m);
	json_t *doc = json_object(), *devs = json_array(), *calls = json_object();
	char *text;

	json_object_set_new(doc, "schema", json_string("wattlaw.sim-state/1"));
	json_object_set_new(doc, "simulated", json_true());
	json_object_set_new(doc, "age_s", json_real((double)(w->t_ns - world_start_ns(m)) / 1e9));
	for (int i = 0; i < s->n_gpus; i++)
		json_array_append_new(devs, device_json(w, s, i));
	for (int i = 0; i < CALL_COUNT; i++)
		if (world_calls(m, i))
			json_object_set_new(
				calls, scenario_call_name(i), json_integer(world_calls(m, i)));
	json_object_set_new(doc, "devices", devs);
	json_object_set_new(doc, "calls", calls);
	text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	if (text)
		puts(text);
	free(text);
	json_decref(doc);
}

static void print_text(struct world_map *m, const struct world *w)
{
	const struct scenario *s = world_scenario(m);

	printf("%d simulated devices, %.1f s old\n", s->n_gpus,
		(double)(w->t_ns - world_start_ns(m)) / 1e9);
	for (int i = 0; i < s->n_gpus; i++) {
		const struct gpu_state *g = &w->dev[i].g;

		printf("%2d  %-24s %6.1f W of %.0f W  %5.0f MHz  %3.0f degC  %10.1f J%s", i,
			g->prof.model, g->now.power_mw / 1000, (double)gpu_limit(g) / 1000,
			g->now.clock_khz / 1000, g->temp_c, g->energy_uj / 1e6,
			w->dev[i].lost ? "  lost" : "");
		if (g->lock_hi_khz)
			printf("  locked %.0f-%.0f MHz", (double)g->lock_lo_khz / 1000,
				(double)g->lock_hi_khz / 1000);
		if (w->dev[i].job > 0)
			printf("  process %d", w->job[w->dev[i].job - 1].pid[0]);
		putchar('\n');
	}
}

int cmd_sim_state(int argc, char **argv)
{
	const char *path = getenv("WATTLAW_SIM_STATE");
	struct opt_set *set = opt_set_new();
	struct state_opts o = {0};
	struct world_map *m = NULL;
	struct err e = ERR_INIT;
	struct str in_dir = STR_INIT;
	const struct world *w;
	enum status st;
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &state_help, state_table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand + 1 < argc) {
		code = cmd_usage("unexpected argument '%s'", argv[operand + 1]);
		goto out;
	}
	if (operand < argc) {
		str_addf(&in_dir, "%s/state", argv[operand]);
		path = str_cstr(&in_dir);
	}
	st = path ? world_open(path, &m, &e)
		  : err_set(&e, ST_NOT_FOUND,
			    "no simulated devices here; name the directory of "
			    "'wattlaw sim exec --dir'");
	if (st) {
		code = cmd_fail(&e);
		goto out;
	}
	w = world_begin(m);
	if (o.json)
		print_json(m, w);
	else
		print_text(m, w);
	world_end(m);
out:
	world_close(m);
	str_release(&in_dir);
	opt_set_free(set);
	return code;
}

static const struct opt profiles_table[] = {
	{.type = OPT_END},
};

static const struct opt_help profiles_help = {
	.usage = "wattlaw sim profiles",
	.summary = "List the devices and workloads that can be simulated.",
};

static void print_device(const char *name)
{
	struct gpu_profile p;

	if (!profile_gpu(name, &p, NULL))
		printf("  %-18s %-24s %3.0f-%.0f W  %4.0f-%.0f MHz\n", name, p.model,
			(double)p.limit_min_mw / 1000, (double)p.limit_max_mw / 1000,
			(double)p.clock_min_khz / 1000, (double)p.clock_max_khz / 1000);
}

static void print_workload(const char *name)
{
	struct workload w;

	if (!profile_workload(name, &w, NULL))
		printf("  %-18s %-10s %-16s batch %-5lld %s%s\n", name, w.domain, w.task,
			(long long)w.batch, w.estimated ? "estimated: " : "", w.source);
}

static void print_list(bool workloads)
{
	struct str list = STR_INIT;
	char *save = NULL;

	profile_list(&list, workloads);
	for (char *n = list.p ? strtok_r(list.p, "\n", &save) : NULL; n;
		n = strtok_r(NULL, "\n", &save)) {
		if (workloads)
			print_workload(n);
		else
			print_device(n);
	}
	str_release(&list);
}

int cmd_sim_profiles(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	int operand, code = CMD_DONE, unused;

	if (cmd_parse(set, &profiles_help, profiles_table, &unused, argc, argv, &operand, &code)) {
		if (operand < argc) {
			code = cmd_usage("unexpected argument '%s'", argv[operand]);
		} else {
			puts("devices");
			print_list(false);
			puts("workloads");
			print_list(true);
		}
	}
	opt_set_free(set);
	return code;
}
