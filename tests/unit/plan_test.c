#include "base/mem.h"
#include "sweep/plan.h"
#include "tap.h"

static struct plan p;
static struct err e;

static const char first_sweep[] = "[sweep]\n"
				  "name = first-sweep\n"
				  "repeats = 2\n"
				  "order = random\n"
				  "seed = 1\n"
				  "point_time = 2s\n"
				  "workers = 1, 2\n"
				  "cpu_rate = 100%, 80%, 60%, 40%\n"
				  "\n"
				  "[job resnet18]\n"
				  "domain = vision\n"
				  "task = classification\n"
				  "launch = mpirun --oversubscribe -n {workers}\n"
				  "command = wl-train resnet18 --size tiny\n";

static enum status read_plan(const char *text)
{
	enum status st;

	plan_release(&p);
	plan_init(&p);
	e = ERR_INIT;
	st = plan_read_text(&p, "s.ini", text, strlen(text), &e);
	return st ? st : plan_finish(&p, 99, &e);
}

static void lays_out_the_example(void)
{
	struct str key = STR_INIT, first_order = STR_INIT, again = STR_INIT;
	struct plan_buf buf;
	struct point pt;
	int visits = 0, unique = 1;
	bool bracketed = true;

	ok(!read_plan(first_sweep), "the example of the design is a plan");
	is_int(p.n_groups, 4, "a launch for each worker count and repeat");
	is_int(p.n_points, 4 * (4 + 3), "each with four rates and three visits of the default");
	for (size_t i = 0; i < p.n_points; i++) {
		bool first = !i || p.points[i - 1].group != p.points[i].group;
		bool last = i + 1 == p.n_points || p.points[i + 1].group != p.points[i].group;

		visits += p.points[i].visit > 0;
		bracketed &= (!first && !last) || p.points[i].baseline;
		plan_point_key(&p, i, &key);
		if (strstr(str_cstr(&first_order), str_cstr(&key)))
			unique = 0;
		str_addf(&first_order, "%s;", str_cstr(&key));
		str_clear(&key);
	}
	is_int(visits, 12, "the default is visited three times in every launch");
	ok(bracketed, "first and last");
	ok(unique, "keys are unique");
	ok(!plan_point(&p, 1, &buf, &pt, &e), "a point can be handed to an executor");
	is_str(pt.command, "wl-train resnet18 --size tiny", "its command");
	has(pt.launch, p.points[1].value[0] ? "-n 2" : "-n 1",
		"its launch has the workers filled in");
	is_int(pt.hold_max_ns, 2000000000, "and its time");
	plan_point_release(&buf);
	ok(!read_plan(first_sweep), "read again");
	for (size_t i = 0; i < p.n_points; i++) {
		plan_point_key(&p, i, &key);
		str_addf(&again, "%s;", str_cstr(&key));
		str_clear(&key);
	}
	is_str(str_cstr(&again), str_cstr(&first_order), "the same seed gives the same order");
	str_release(&key);
	str_release(&first_order);
	str_release(&again);
}

static void expect(const char *text, const char *msg, const char *what)
{
	enum status st = read_plan(text);

	ok(st == ST_INVALID || st == ST_RANGE, "%s is refused", what);
	has(e.msg, msg, "and the message helps");
}

static void refuses_mistakes(void)
{
	expect("[sweep]\nrepeets = 2\n[job a]\ncommand = x\n",
		"s.ini:2:1: unknown key 'repeets' in [sweep]; did you mean 'repeats'?",
		"an unknown key");
	expect("[sweep]\npower_limt = 200W\n[job a]\ncommand = x\n", "did you mean 'power_limit'?",
		"an unknown axis");
	expect("[sweep]\npower_limit = 200W, 12 parsecs\n[job a]\ncommand = x\n", "s.ini:2:21",
		"an unknown unit");
	expect("[sweep]\ncpu_rate = 140%\n[job a]\ncommand = x\n", "outside", "a rate above 100 %");
	expect("[sweep]\nworkers = 1, 2\n[job a]\ncommand = x\n",
		"axis 'workers' is not used by job 'a'; its launch or command must contain "
		"{workers}",
		"an axis that nothing uses");
	expect("[sweep]\naxis.batch = 1, 2\n[job a]\ncommand = x {bacth}\n",
		"did you mean {batch}?", "a misspelt {axis}");
	expect("[sweep]\nworkers = 1, 1\n[job a]\ncommand = x {workers}\n", "given twice",
		"a value given twice");
	expect("[sweep]\nworkers = default\n[job a]\ncommand = x {workers}\n", "only a knob",
		"a default of something that is no knob");
	expect("[swep]\nrepeats = 2\n[job a]\ncommand = x\n", "did you mean [sweep]?",
		"an unknown section");
	expect("[sweep]\nrepeats = 2\n", "nothing to run", "a file without a job");
	expect("[sweep]\n[job a]\ndomain = x\n", "has no command", "a job without a command");
	expect("[sweep]\n[job a]\ncommand = x\n[job a]\ncommand = y\n", "a second [job a]",
		"a job given twice");
	expect("[sweep]\nknob.power_limit = set\n[job a]\ncommand = x\n", "{value}",
		"a knob command without {value}");
	expect("[sweep]\naxis.a = 1\naxis.b = 1,2\npoint_time = 0s\n[job a]\ncommand = x\n",
		"too short", "no time for a point");
}

static void takes_the_command_line(void)
{
	static const char *const argv[] = {"/opt/train.sh", "--batch", "{batch}", "a b", NULL};
	struct plan_buf buf;
	struct point pt;

	plan_release(&p);
	plan_init(&p);
	p.order = PLAN_GIVEN;
	p.repeats = 1;
	ok(!plan_add_axis(&p, "power_limit=250W, 200", &e), "a list, with and without unit");
	ok(!plan_add_range(&p, "batch", "16", "64", "16", &e), "a range");
	ok(!plan_add_command(&p, argv, &e), "a command");
	ok(!plan_finish(&p, 5, &e), "make a plan");
	is_int(p.n_points, 4 * (2 + 2), "4 batches, 2 limits, the default first and last");
	is_int(p.seed, 5, "the fallback seed is kept");
	ok(!plan_point(&p, 1, &buf, &pt, &e), "its first limit");
	is_str(pt.command, "/opt/train.sh --batch '16' 'a b'",
		"words are quoted, the axis filled in");
	is_str(pt.axes[0].text, "250W", "a bare number is in watts, printed with its unit");
	is_str(pt.workload, "train.sh", "the job is named after the command");
	plan_point_release(&buf);
	is_int(plan_add_axis(&p, "power_limit", &e), ST_INVALID, "an axis needs values");
	is_int(plan_add_range(&p, "power_limit", "100W", "200W", NULL, &e), ST_INVALID,
		"a range needs a step");
}

static void leaves_foreign_braces_alone(void)
{
	struct plan_buf buf;
	struct point pt;

	ok(!read_plan("[sweep]\nrepeats = 1\naxis.n = 3\n[job a]\ncommand = awk '{print}' ${HOME} "
		      "{n} {repeat}\n"),
		"awk and shell braces are no axes");
	ok(!plan_point(&p, 0, &buf, &pt, &e), "expanded");
	is_str(pt.command, "awk '{print}' ${HOME} 3 0", "only axes are replaced");
	plan_point_release(&buf);
}

static void survives_lack_of_memory(void)
{
	for (unsigned n = 1; n < 5000; n++) {
		enum status st;

		fault_arm("alloc", n);
		st = read_plan(first_sweep);
		if (!fault_fired()) {
			is_int(st, ST_OK, "every allocation may fail, then it works");
			break;
		}
		if (st != ST_NOMEM) {
			ok(false, "allocation %u gave %s: %s", n, status_name(st), e.msg);
			break;
		}
	}
	fault_arm("alloc", 0);
}

int main(void)
{
	lays_out_the_example();
	refuses_mistakes();
	takes_the_command_line();
	leaves_foreign_braces_alone();
	survives_lack_of_memory();
	plan_release(&p);
	return tap_done();
}
