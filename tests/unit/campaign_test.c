/* campaign_test.c: a campaign with an executor that does as it is told: what is run again, what is
 * left to a resumed one, and where the bound of GPU hours ends it. */
#include <unistd.h>
#include "sweep/campaign.h"
#include "tap.h"

#define POINTS_MAX 32

/* What becomes of a setting n=…: by its value, and how often it was run already. */
struct script {
	enum run_state first[POINTS_MAX], later;
	int runs[POINTS_MAX];
	int n_gpus;
	int64_t wall_ns;
	/* under way */
	uint64_t next_ticket, tickets[POINTS_MAX];
	struct run_rec recs[POINTS_MAX];
	size_t n, at;
	int submitted;
};

static struct err e;
static int serial;

static enum status fake_submit(void *x, const struct point *p, uint64_t *ticket, struct err *err)
{
	struct script *s = x;
	struct run_rec *r = &s->recs[s->n];
	int64_t v = p->axes[0].value.v;
	char id[32];

	(void)err;
	run_rec_init(r);
	snprintf(id, sizeof(id), "run%d", ++serial);
	rec_set(&r->run_id, id);
	rec_set(&r->workload, p->workload);
	run_rec_axis(r, p->axes[0].name, p->axes[0].text, p->axes[0].unit, p->axes[0].value);
	r->repeat = p->repeat;
	r->order = p->order;
	r->state = s->runs[v]++ ? s->later : s->first[v];
	r->wall_ns = QTY(s->wall_ns);
	for (int i = 0; i < s->n_gpus; i++) {
		struct dev_rec *d = run_rec_dev(r);

		d->kind = DEV_GPU;
		d->counted = true;
	}
	s->tickets[s->n++] = *ticket = ++s->next_ticket;
	s->submitted++;
	return ST_OK;
}

static enum status fake_next(
	void *x, int64_t deadline_ns, uint64_t *ticket, struct run_rec *out, struct err *err)
{
	struct script *s = x;

	(void)deadline_ns;
	(void)err;
	if (s->at == s->n) {
		s->at = s->n = 0;
		return ST_NOT_FOUND;
	}
	*ticket = s->tickets[s->at];
	*out = s->recs[s->at++];
	return ST_OK;
}

static void fake_cancel(void *x, uint64_t ticket)
{
	(void)x;
	(void)ticket;
}

static const struct exec_ops fake_ops = {
	.name = "fake", .submit = fake_submit, .next = fake_next, .cancel = fake_cancel};

static const char four[] = "[sweep]\nname = four\nrepeats = 1\norder = given\nseed = 1\n"
			   "axis.n = 1, 2, 3, 4\n[job a]\ncommand = x {n}\n";

struct setup {
	struct plan plan;
	struct store *store;
	struct campaign c;
	struct campaign_result r;
	int heard;
};

static void count_point(void *arg, size_t index, const struct run_rec *rec)
{
	struct setup *s = arg;

	(void)index;
	(void)rec;
	s->heard++;
}

static enum status carry_out(struct setup *s, const char *db, const char *text, bool resume,
	double hours, bool simulated, struct script *script)
{
	enum status st;

	memset(s, 0, sizeof(*s));
	plan_init(&s->plan);
	e = ERR_INIT;
	st = plan_read_text(&s->plan, "four.ini", text, strlen(text), &e);
	if (st == ST_OK)
		st = plan_finish(&s->plan, 1, &e);
	if (st == ST_OK)
		st = store_open(db, true, &s->store, &e);
	s->plan.max_gpu_hours = hours;
	s->c = (struct campaign){.plan = &s->plan,
		.store = s->store,
		.ops = &fake_ops,
		.exec = script,
		.point = count_point,
		.arg = s};
	if (st == ST_OK)
		st = resume ? campaign_resume(&s->c, &e) : campaign_new(&s->c, simulated, &e);
	script->submitted = 0;
	return st == ST_OK ? campaign_run(&s->c, &s->r, &e) : st;
}

static void put_away(struct setup *s)
{
	campaign_release(&s->c);
	store_close(s->store);
	plan_release(&s->plan);
}

static int stored(struct setup *s, const char *setting, enum run_state *state)
{
	return store_point(s->store, s->c.info.id, "a", setting, 0, state, &e) == ST_OK;
}

static void runs_disturbed_points_again(void)
{
	struct script x = {.first = {[2] = RUN_DISTURBED}, .later = RUN_DONE};
	enum run_state state = RUN_FAILED;
	struct setup s;

	is_int(carry_out(&s, "again.db", four, false, 0, false, &x), ST_OK, "a campaign runs");
	is_int(x.runs[2], 2, "a point that heat or a brake disturbed is run once more");
	is_int(x.runs[1] + x.runs[3] + x.runs[4], 3, "the others are not");
	is_int(s.r.done, 4, "it counts as one point");
	is_int(s.r.left + s.r.failed, 0, "and nothing is left");
	is_int(s.heard, 5, "both of its runs are told");
	ok(stored(&s, "n=2", &state) && state == RUN_DONE, "the store has its good run");
	put_away(&s);

	x = (struct script){.first = {[3] = RUN_DISTURBED}, .later = RUN_DISTURBED};
	carry_out(&s, "hot.db", four, false, 0, false, &x);
	is_int(x.runs[3], 2, "a machine that stays hot is not measured for ever");
	ok(stored(&s, "n=3", &state) && state == RUN_DISTURBED, "and its point stays marked");
	put_away(&s);
	x.submitted = 0;
	carry_out(&s, "hot.db", four, true, 0, false, &x);
	is_int(x.submitted, 0, "a resumed campaign does not try it a third time");
	put_away(&s);
}

/* What kill -9 leaves between a disturbed run and its repetition. */
static void resumes_what_is_missing(void)
{
	struct script x = {.first = {[1] = RUN_DISTURBED, [2] = RUN_FAILED}, .later = RUN_DONE};
	struct script none = {.later = RUN_DONE};
	struct campaign_info info;
	struct run_rec r;
	struct store *store;
	struct setup s;

	is_int(store_open("cut.db", true, &store, &e), ST_OK, "a store");
	is_int(store_campaign_begin(store, "four", four, four, 1, false, NULL, &info, &e), ST_OK,
		"with a campaign that was cut");
	for (int i = 0; i < 3; i++) {
		static const enum run_state states[] = {RUN_DISTURBED, RUN_FAILED, RUN_INTERRUPTED};
		static const char *const texts[] = {"1", "2", "3"};
		char id[16];

		run_rec_init(&r);
		snprintf(id, sizeof(id), "cut%d", i);
		rec_set(&r.run_id, id);
		rec_set(&r.workload, "a");
		run_rec_axis(&r, "n", texts[i], UNIT_NONE, QTY(i + 1));
		r.order = i;
		r.state = states[i];
		is_int(store_put(store, info.id, &r, &e), ST_OK, "and a run");
		run_rec_release(&r);
	}
	campaign_info_release(&info);
	store_close(store);
	x = none;
	is_int(carry_out(&s, "cut.db", four, true, 0, false, &x), ST_OK, "it is resumed");
	is_int(x.runs[1], 1, "a disturbed point whose repetition was never run gets it");
	is_int(x.runs[2], 0, "a failed point is a result");
	is_int(x.runs[3], 1, "what was broken off is run");
	is_int(x.runs[4], 1, "and what was never begun");
	put_away(&s);
}

static void keeps_the_bound_of_hours(void)
{
	struct script x = {.later = RUN_DONE, .n_gpus = 2, .wall_ns = INT64_C(1800000000000)};
	struct setup s;

	is_int(carry_out(&s, "hours.db", four, false, 1.5, true, &x), ST_OK,
		"half an hour a point on two GPUs, at most 1.5 GPU hours");
	is_int(x.submitted, 2, "no launch begins once they are used");
	ok(s.r.out_of_hours && s.r.left == 2, "which is said, with what is left");
	is_near(s.r.gpu_hours, 2, 1e-9, "and how many were used");
	put_away(&s);
	carry_out(&s, "hours.db", four, true, 0, true, &x);
	is_int(x.submitted, 2, "without the bound the rest is run on resuming");
	put_away(&s);
	x = (struct script){.later = RUN_DONE, .n_gpus = 2, .wall_ns = INT64_C(1800000000000)};
	carry_out(&s, "real.db", four, false, 1e-12, false, &x);
	is_int(x.submitted, 1, "on this machine the time is that of its clock");
	put_away(&s);
	x = (struct script){.later = RUN_DONE, .wall_ns = INT64_C(1800000000000)};
	carry_out(&s, "cpu.db", four, false, 1e-12, false, &x);
	is_int(x.submitted, 4, "a job without GPUs uses none");
	put_away(&s);
}

int main(void)
{
	char dir[] = "/tmp/campaign_test.XXXXXX", cmd[64];

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	runs_disturbed_points_again();
	resumes_what_is_missing();
	keeps_the_bound_of_hours();
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (chdir("/") || system(cmd))
		printf("# cannot remove %s\n", dir);
	return tap_done();
}
