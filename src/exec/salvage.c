/* salvage.c: see salvage.h. */
#include "exec/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/job.h"

#define SALVAGE_VERSION 1u

enum note { NOTE_START = 1, NOTE_END, NOTE_KNOB, NOTE_STEPS };

static void append(struct shard *s, enum shard_type type, struct str *b)
{
	if (!b->failed && shard_append(s, type, b->p, b->len))
		log_warn("shard", "the shard cannot be written; measuring goes on without it");
	str_release(b);
}

void shard_put_head(struct shard *s, const struct hello *h, const char *marks_dir,
	const struct point_msg *first)
{
	struct clock *c = clock_system();
	struct str b = STR_INIT, rec = STR_INIT;

	wire_u32(&b, SALVAGE_VERSION);
	wire_u32(&b, (uint32_t)h->mode);
	wire_text(&b, h->run_id);
	wire_text(&b, h->host);
	wire_text(&b, marks_dir);
	wire_i64(&b, c->now(c));
	wire_i64(&b, c->realtime(c));
	wire_i64(&b, h->period_ns);
	wire_u64(&b, first ? first->ticket : 0);
	if (first && !run_rec_encode(&first->rec, &rec))
		b.failed = true;
	wire_bytes(&b, rec.p, rec.len);
	str_release(&rec);
	append(s, SHARD_HEADER, &b);
}

void shard_put_device(struct shard *s, const struct device *d, bool on, int parent)
{
	struct str b = STR_INIT;

	wire_u32(&b, on);
	wire_i64(&b, parent);
	wire_text(&b, d->key);
	wire_text(&b, d->pci);
	wire_text(&b, d->name);
	wire_text(&b, d->model);
	wire_u32(&b, (uint32_t)d->kind);
	wire_u32(&b, d->counted);
	wire_i64(&b, d->refresh_ns);
	wire_i64(&b, d->energy_wrap);
	wire_i64(&b, d->max_power_mw);
	wire_u32(&b, (uint32_t)d->power_kind);
	wire_u64(&b, d->channels);
	wire_u32(&b, d->knobs);
	wire_text(&b, d->why_not);
	append(s, SHARD_DEVICE, &b);
}

static bool get_device(struct wire *w, struct device *d, bool *on, int *parent)
{
	memset(d, 0, sizeof *d);
	*on = wire_get_u32(w) != 0;
	*parent = (int)wire_get_i64(w);
	wire_get_text_buf(w, d->key, sizeof d->key);
	wire_get_text_buf(w, d->pci, sizeof d->pci);
	wire_get_text_buf(w, d->name, sizeof d->name);
	wire_get_text_buf(w, d->model, sizeof d->model);
	d->kind = (enum dev_kind)wire_get_u32(w);
	d->counted = wire_get_u32(w) != 0;
	d->parent = -1;
	d->refresh_ns = wire_get_i64(w);
	d->energy_wrap = wire_get_i64(w);
	d->max_power_mw = wire_get_i64(w);
	d->power_kind = (enum power_kind)wire_get_u32(w);
	d->channels = wire_get_u64(w);
	d->knobs = wire_get_u32(w);
	wire_get_text_buf(w, d->why_not, sizeof d->why_not);
	return !w->bad && d->kind < DEV_KIND_COUNT;
}

void shard_put_samples(struct shard *s, const struct tagged_sample *ts, size_t n)
{
	struct str b = STR_INIT;

	wire_u32(&b, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		wire_u32(&b, (uint32_t)ts[i].device);
		wire_u32(&b, (uint32_t)ts[i].channel);
		wire_i64(&b, ts[i].s.value);
		wire_i64(&b, ts[i].s.t_ns);
		wire_u32(&b, (uint32_t)ts[i].s.st);
	}
	append(s, SHARD_SAMPLES, &b);
}

void shard_put_mark(struct shard *s, const struct mark_rank *r, const struct mark_event *ev)
{
	struct str b = STR_INIT;

	wire_i64(&b, r->pid);
	wire_i64(&b, r->rank);
	wire_i64(&b, r->n_ranks);
	wire_u64(&b, r->steps);
	wire_u64(&b, r->samples);
	wire_u64(&b, r->epochs);
	wire_u64(&b, r->lost);
	wire_i64(&b, r->first_step_ns);
	wire_i64(&b, r->last_step_ns);
	wire_u64(&b, r->gradient_bytes);
	wire_u64(&b, r->batch_per_rank);
	wire_u64(&b, r->global_batch);
	wire_u64(&b, ev->t_ns);
	wire_u64(&b, ev->kind);
	wire_u64(&b, ev->value);
	wire_bytes(&b, ev->text, strnlen(ev->text, sizeof ev->text));
	wire_u64(&b, ev->seq);
	append(s, SHARD_MARKS, &b);
}

static bool get_mark(struct wire *w, struct mark_rank *r, struct mark_event *ev)
{
	memset(r, 0, sizeof *r);
	memset(ev, 0, sizeof *ev);
	r->pid = wire_get_i64(w);
	r->rank = (int)wire_get_i64(w);
	r->n_ranks = (int)wire_get_i64(w);
	r->steps = wire_get_u64(w);
	r->samples = wire_get_u64(w);
	r->epochs = wire_get_u64(w);
	r->lost = wire_get_u64(w);
	r->first_step_ns = wire_get_i64(w);
	r->last_step_ns = wire_get_i64(w);
	r->gradient_bytes = wire_get_u64(w);
	r->batch_per_rank = wire_get_u64(w);
	r->global_batch = wire_get_u64(w);
	ev->t_ns = wire_get_u64(w);
	ev->kind = wire_get_u64(w);
	ev->value = wire_get_u64(w);
	wire_get_text_buf(w, ev->text, sizeof ev->text);
	ev->seq = wire_get_u64(w);
	return !w->bad;
}

static void put_note(struct shard *s, enum note kind, int64_t a, int64_t b2)
{
	struct str b = STR_INIT;

	wire_u32(&b, kind);
	wire_i64(&b, a);
	wire_i64(&b, b2);
	append(s, SHARD_NOTE, &b);
}

void shard_put_start(struct shard *s, int64_t pid, int64_t t_ns)
{
	put_note(s, NOTE_START, pid, t_ns);
}

void shard_put_end(struct shard *s, int64_t t_ns, int64_t code)
{
	put_note(s, NOTE_END, t_ns, code);
}

void shard_put_steps(struct shard *s, int64_t t_ns, uint64_t steps)
{
	put_note(s, NOTE_STEPS, t_ns, (int64_t)steps);
}

void shard_put_knob(struct shard *s, uint32_t dev, uint32_t knob, const struct qty v[3])
{
	struct str b = STR_INIT;

	wire_u32(&b, NOTE_KNOB);
	wire_u32(&b, dev);
	wire_u32(&b, knob);
	for (int i = 0; i < 3; i++) {
		wire_i64(&b, v[i].v);
		wire_u32(&b, (uint32_t)v[i].st);
	}
	append(s, SHARD_NOTE, &b);
}

void shard_put_record(struct shard *s, uint64_t ticket, const struct run_rec *rec)
{
	struct str b = STR_INIT;

	wire_u64(&b, ticket);
	if (!run_rec_encode(rec, &b))
		b.failed = true;
	append(s, SHARD_RECORD, &b);
}

void shard_put_trailer(struct shard *s)
{
	struct clock *c = clock_system();
	struct str b = STR_INIT;

	wire_i64(&b, c->now(c));
	wire_i64(&b, c->realtime(c));
	append(s, SHARD_TRAILER, &b);
}

/* A shard being read back. */
struct salvage {
	enum launch_mode mode;
	char run_id[64], host[256], marks_dir[4096];
	bool have_head, have_template, over;
	int64_t mono_ns, real_ns, period_ns;
	uint64_t ticket;
	struct run_rec template;
	struct build *build;
	size_t n_devices;
	int64_t start_ns, end_ns, last_ns;
	int exit_code;
	size_t n_records;
	bool (*fn)(void *arg, const struct run_rec *rec);
	void *arg;
	bool refused;
};

static bool read_head(struct salvage *v, struct wire *w)
{
	struct build_config cfg = {.host = v->host};
	struct err e = ERR_INIT;
	const void *rec;
	size_t n;

	if (wire_get_u32(w) != SALVAGE_VERSION)
		return false;
	v->mode = (enum launch_mode)wire_get_u32(w);
	wire_get_text_buf(w, v->run_id, sizeof v->run_id);
	wire_get_text_buf(w, v->host, sizeof v->host);
	wire_get_text_buf(w, v->marks_dir, sizeof v->marks_dir);
	v->mono_ns = wire_get_i64(w);
	v->real_ns = wire_get_i64(w);
	v->period_ns = wire_get_i64(w);
	v->ticket = wire_get_u64(w);
	rec = wire_get_bytes(w, &n);
	if (w->bad)
		return false;
	if (rec && n && run_rec_decode(&v->template, rec, n, &e) == ST_OK)
		v->have_template = true;
	cfg.period_ns = v->period_ns;
	v->have_head = build_new(&cfg, &v->build) == ST_OK;
	return v->have_head;
}

static void read_samples(struct salvage *v, struct wire *w)
{
	uint32_t n = wire_get_u32(w);

	while (n-- && !w->bad) {
		struct tagged_sample ts;

		ts.device = (int32_t)wire_get_u32(w);
		ts.channel = (int32_t)wire_get_u32(w);
		ts.s.value = wire_get_i64(w);
		ts.s.t_ns = wire_get_i64(w);
		ts.s.st = (enum status)wire_get_u32(w);
		if (w->bad || ts.device < 0 || (size_t)ts.device >= v->n_devices ||
			ts.channel < 0 || ts.channel >= CH_COUNT || ts.s.st >= ST_COUNT)
			return;
		build_sample(v->build, &ts);
		if (ts.s.t_ns > v->last_ns)
			v->last_ns = ts.s.t_ns;
	}
}

static void read_note(struct salvage *v, struct wire *w)
{
	enum note kind = (enum note)wire_get_u32(w);
	struct qty q[3];
	uint32_t dev, knob;
	int64_t a;

	if (kind == NOTE_KNOB) {
		dev = wire_get_u32(w);
		knob = wire_get_u32(w);
		for (int i = 0; i < 3; i++) {
			q[i].v = wire_get_i64(w);
			q[i].st = (enum status)wire_get_u32(w);
		}
		if (!w->bad && dev < v->n_devices && knob < KNOB_COUNT)
			build_knob(v->build, dev, (enum knob)knob, q[0], q[1], q[2]);
		return;
	}
	a = wire_get_i64(w);
	if (kind == NOTE_START)
		v->start_ns = wire_get_i64(w);
	else if (kind == NOTE_END) {
		v->end_ns = a;
		v->exit_code = (int)wire_get_i64(w);
	} else if (kind == NOTE_STEPS) {
		build_progress(v->build, a, wire_get_u64(w), 0);
		v->last_ns = a > v->last_ns ? a : v->last_ns;
	}
}

static void read_record(struct salvage *v, struct wire *w)
{
	struct run_rec rec;
	struct err e = ERR_INIT;

	(void)wire_get_u64(w);
	if (w->bad || run_rec_decode(&rec, w->p, w->left, &e))
		return;
	v->n_records++;
	if (v->fn && !v->fn(v->arg, &rec))
		v->refused = true;
	run_rec_release(&rec);
}

static void read_frame(struct salvage *v, const struct shard_frame *f)
{
	struct wire w = {f->payload, f->n, false};
	struct device d;
	struct mark_rank r;
	struct mark_event ev;
	bool on;
	int parent;

	/* A second header begins a second copy, or another shard put behind this one. */
	if (f->type == SHARD_HEADER && v->have_head)
		v->over = true;
	if (v->over || (f->type == SHARD_HEADER && !read_head(v, &w)) || !v->have_head)
		return;
	switch (f->type) {
	case SHARD_DEVICE:
		if (get_device(&w, &d, &on, &parent) && parent < (int)v->n_devices + 4096 &&
			build_device(v->build, &d, on, parent) == ST_OK)
			v->n_devices++;
		break;
	case SHARD_SAMPLES:
		read_samples(v, &w);
		break;
	case SHARD_MARKS:
		if (get_mark(&w, &r, &ev)) {
			build_mark(v->build, &r, &ev);
			if ((int64_t)ev.t_ns > v->last_ns)
				v->last_ns = (int64_t)ev.t_ns;
		}
		break;
	case SHARD_NOTE:
		read_note(v, &w);
		break;
	case SHARD_RECORD:
		read_record(v, &w);
		break;
	default:
		break;
	}
}

static enum status salvage_read(struct salvage *v, const char *path, struct err *e)
{
	struct shard_reader *r;
	struct shard_frame f;
	enum status st = shard_open(path, &r, e);

	run_rec_init(&v->template);
	v->exit_code = -1;
	if (st != ST_OK)
		return st;
	while (shard_next(r, &f) == ST_OK)
		read_frame(v, &f);
	shard_reader_close(r);
	if (!v->have_head)
		return err_set(e, ST_CORRUPT, "%s has no readable header", path);
	return ST_OK;
}

static void salvage_release(struct salvage *v)
{
	build_free(v->build);
	run_rec_release(&v->template);
}

/* Into rec: the template filled from the frames. */
static enum status rebuild(struct salvage *v, struct run_rec *rec, struct err *e)
{
	struct build_window w = {.t0_ns = v->start_ns, .t1_ns = v->end_ns, .keep_series = true};
	enum status st;

	if (v->mode == LAUNCH_STEP || !v->have_template)
		return err_set(e, ST_UNSUPPORTED, "settings that were not finished are not kept");
	if (!v->start_ns || w.t1_ns <= w.t0_ns)
		return err_set(e, ST_NOT_FOUND, "the job had not started");
	run_rec_release(rec);
	*rec = v->template;
	run_rec_init(&v->template);
	build_warn(v->build,
		"the keeper died at %.1f s: what it had read up to then is all there is",
		(double)(v->last_ns - v->start_ns) / 1e9);
	st = build_record(v->build, &w, rec, e);
	if (st != ST_OK)
		return st;
	rec->state = RUN_PARTIAL;
	rec->exit_code = v->exit_code;
	rec->start_realtime_ns = v->real_ns + (v->start_ns - v->mono_ns);
	return ST_OK;
}

static void tmp_path(const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s.tmp", path);
}

enum status salvage_dead(const char *path, int64_t start_ns, int64_t end_ns, int exit_code,
	struct run_rec *rec, uint64_t *ticket, struct err *e)
{
	struct salvage v = {.mode = LAUNCH_RUN};
	char tmp[4200];
	enum status st;

	tmp_path(path, tmp, sizeof tmp);
	st = salvage_read(&v, access(tmp, F_OK) ? path : tmp, e);
	if (st == ST_OK) {
		v.start_ns = start_ns;
		v.end_ns = end_ns;
		v.exit_code = exit_code;
		*ticket = v.ticket;
		st = rebuild(&v, rec, e);
	}
	if (v.marks_dir[0])
		marks_remove(v.marks_dir);
	salvage_release(&v);
	return st;
}

void salvage_remove(const char *path)
{
	char tmp[4200];

	if (!path[0])
		return;
	tmp_path(path, tmp, sizeof tmp);
	(void)unlink(tmp);
	(void)unlink(path);
}

/* One orphan. False when it must stay. */
static bool salvage_one(
	const char *path, bool (*fn)(void *arg, const struct run_rec *rec), void *arg, size_t *n)
{
	struct salvage v = {.fn = fn, .arg = arg};
	struct err e = ERR_INIT;
	bool keep = false;

	if (salvage_read(&v, path, &e) == ST_OK) {
		if (v.mode != LAUNCH_RUN && !v.end_ns)
			(void)job_signal_run(v.run_id, SIGKILL);
		if (v.marks_dir[0])
			marks_remove(v.marks_dir);
		if (!v.n_records && v.mode != LAUNCH_STEP) {
			struct run_rec rec;

			run_rec_init(&rec);
			if (!v.end_ns)
				v.end_ns = v.last_ns;
			if (rebuild(&v, &rec, &e) == ST_OK) {
				v.n_records++;
				v.refused |= !fn(arg, &rec);
			}
			run_rec_release(&rec);
		}
		*n += v.n_records;
		keep = v.refused;
	}
	salvage_release(&v);
	return !keep;
}

enum status salvage_dir(const char *dir, bool (*fn)(void *arg, const struct run_rec *rec),
	void *arg, size_t *n, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	*n = 0;
	if (!d)
		return errno == ENOENT ? ST_OK : err_errno(e, errno, "cannot read %s", dir);
	while ((de = readdir(d))) {
		char path[4200];
		int fd;

		if (!str_ends(de->d_name, ".shard") && !str_ends(de->d_name, ".shard.tmp"))
			continue;
		snprintf(path, sizeof path, "%.3900s/%.255s", dir, de->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		/* Its writer holds the lock while it lives; so does another merger. */
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && salvage_one(path, fn, arg, n))
			(void)unlink(path);
		if (fd >= 0)
			close(fd);
	}
	closedir(d);
	return ST_OK;
}
