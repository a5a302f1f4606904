/* proto.c: see proto.h. */
#include "exec/proto.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

#define PROTO_MAGIC 0x4b4c5757u /* "WWLK" */
#define PROTO_HEAD  16
#define PROTO_MAX   ((size_t)256 << 20)

bool hello_encode(const struct hello *h, struct str *out)
{
	wire_u32(out, (uint32_t)h->mode);
	wire_text(out, h->run_id);
	wire_text(out, h->host);
	wire_text(out, h->shard_dir);
	wire_text(out, h->control_dir);
	wire_text(out, h->devices);
	wire_text(out, h->holder);
	wire_text(out, h->only);
	wire_i64(out, h->period_ns);
	wire_i64(out, h->idle_ns);
	wire_i64(out, h->open_ns);
	wire_i64(out, h->warmup_ns);
	wire_i64(out, h->warmup_steps);
	wire_i64(out, h->settle_ns);
	wire_i64(out, h->no_steps_ns);
	wire_u32(out, h->knobs);
	wire_u32(out, h->site_knobs);
	wire_u32(out, h->n_ranks);
	wire_u32(out, h->cpus_per_rank);
	wire_u32(out, h->progress);
	return !out->failed;
}

enum status hello_decode(struct hello *h, const void *p, size_t n, struct err *e)
{
	struct wire w = {p, n, false};

	memset(h, 0, sizeof *h);
	h->mode = (enum launch_mode)wire_get_u32(&w);
	h->run_id = wire_get_text(&w);
	h->host = wire_get_text(&w);
	h->shard_dir = wire_get_text(&w);
	h->control_dir = wire_get_text(&w);
	h->devices = wire_get_text(&w);
	h->holder = wire_get_text(&w);
	h->only = wire_get_text(&w);
	h->period_ns = wire_get_i64(&w);
	h->idle_ns = wire_get_i64(&w);
	h->open_ns = wire_get_i64(&w);
	h->warmup_ns = wire_get_i64(&w);
	h->warmup_steps = wire_get_i64(&w);
	h->settle_ns = wire_get_i64(&w);
	h->no_steps_ns = wire_get_i64(&w);
	h->knobs = wire_get_u32(&w);
	h->site_knobs = wire_get_u32(&w);
	h->n_ranks = wire_get_u32(&w);
	h->cpus_per_rank = wire_get_u32(&w);
	h->progress = wire_get_u32(&w) != 0;
	if (w.bad || w.left || h->mode > LAUNCH_STEP || !h->run_id || !h->host || !h->shard_dir ||
		!h->control_dir) {
		hello_release(h);
		return err_set(e, ST_CORRUPT, "malformed HELLO from the leader");
	}
	return ST_OK;
}

void hello_release(struct hello *h)
{
	mem_free(h->run_id);
	mem_free(h->host);
	mem_free(h->shard_dir);
	mem_free(h->control_dir);
	mem_free(h->devices);
	mem_free(h->holder);
	mem_free(h->only);
	memset(h, 0, sizeof *h);
}

bool point_msg_encode(const struct point_msg *m, struct str *out)
{
	struct str rec = STR_INIT;

	wire_u64(out, m->ticket);
	wire_u32(out, m->n_knobs);
	for (uint32_t i = 0; i < m->n_knobs; i++) {
		wire_u32(out, m->knobs[i].knob);
		wire_u32(out, m->knobs[i].leave);
		wire_u32(out, m->knobs[i].site);
		wire_i64(out, m->knobs[i].value);
	}
	wire_i64(out, m->hold_min_ns);
	wire_i64(out, m->hold_max_ns);
	wire_i64(out, m->ci_ppm);
	if (!run_rec_encode(&m->rec, &rec))
		out->failed = true;
	wire_bytes(out, rec.p, rec.len);
	str_release(&rec);
	return !out->failed;
}

enum status point_msg_decode(struct point_msg *m, const void *p, size_t n, struct err *e)
{
	struct wire w = {p, n, false};
	const void *rec;
	size_t rec_n;

	memset(m, 0, sizeof *m);
	m->ticket = wire_get_u64(&w);
	m->n_knobs = wire_get_u32(&w);
	if (m->n_knobs > POINT_KNOBS_MAX)
		goto bad;
	for (uint32_t i = 0; i < m->n_knobs; i++) {
		m->knobs[i].knob = wire_get_u32(&w);
		m->knobs[i].leave = wire_get_u32(&w) != 0;
		m->knobs[i].site = wire_get_u32(&w) != 0;
		m->knobs[i].value = wire_get_i64(&w);
	}
	m->hold_min_ns = wire_get_i64(&w);
	m->hold_max_ns = wire_get_i64(&w);
	m->ci_ppm = wire_get_i64(&w);
	rec = wire_get_bytes(&w, &rec_n);
	if (w.bad || w.left || !rec)
		goto bad;
	return run_rec_decode(&m->rec, rec, rec_n, e);
bad:
	run_rec_init(&m->rec);
	return err_set(e, ST_CORRUPT, "malformed POINT from the leader");
}

void point_msg_release(struct point_msg *m)
{
	run_rec_release(&m->rec);
}

bool ready_encode(const struct ready_msg *m, struct str *out)
{
	wire_text(out, m->marks_dir);
	wire_text(out, m->node_dir);
	wire_text(out, m->warnings);
	return !out->failed;
}

enum status ready_decode(struct ready_msg *m, const void *p, size_t n, struct err *e)
{
	struct wire w = {p, n, false};

	m->marks_dir = wire_get_text(&w);
	m->node_dir = wire_get_text(&w);
	m->warnings = wire_get_text(&w);
	if (w.bad || w.left) {
		ready_release(m);
		return err_set(e, ST_CORRUPT, "malformed READY from the keeper");
	}
	return ST_OK;
}

void ready_release(struct ready_msg *m)
{
	mem_free(m->marks_dir);
	mem_free(m->node_dir);
	mem_free(m->warnings);
	memset(m, 0, sizeof *m);
}

void chan_init(struct chan *c, int fd)
{
	*c = (struct chan){.fd = fd, .in = STR_INIT};
}

void chan_close(struct chan *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->dead = true;
	str_release(&c->in);
	c->at = 0;
}

/* Send all of iov or declare the channel dead: half a message would make nonsense of the rest. */
static enum status send_all(struct chan *c, const void *p, size_t n, int64_t deadline_ns)
{
	const char *b = p;

	while (n) {
		ssize_t k = send(c->fd, b, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		struct pollfd pfd = {.fd = c->fd, .events = POLLOUT};
		int64_t left;

		if (k >= 0) {
			b += k;
			n -= (size_t)k;
			continue;
		}
		if (errno == EINTR)
			continue;
		left = deadline_ns - clock_system()->now(clock_system());
		if (errno != EAGAIN || left <= 0)
			goto dead;
		(void)poll(&pfd, 1, (int)(left / NS_PER_MS) + 1);
	}
	return ST_OK;
dead:
	c->dead = true;
	return ST_LOST;
}

enum status chan_send(struct chan *c, enum msg_type type, const void *p, size_t n, int timeout_ms)
{
	uint32_t head[4] = {htole32(PROTO_MAGIC), htole32(PROTO_VERSION), htole32((uint32_t)type),
		htole32((uint32_t)n)};
	int64_t deadline;
	enum status st;

	if (c->dead)
		return ST_LOST;
	if (n > PROTO_MAX)
		return ST_RANGE;
	deadline = timeout_ms ? clock_system()->now(clock_system()) + timeout_ms * NS_PER_MS : 0;
	st = send_all(c, head, sizeof head, deadline);
	if (st == ST_OK && n)
		st = send_all(c, p, n, deadline);
	return st;
}

static enum status pop(struct chan *c, struct msg *m)
{
	uint32_t head[4];
	size_t have = c->in.len - c->at;

	if (have < PROTO_HEAD)
		return ST_AGAIN;
	memcpy(head, c->in.p + c->at, sizeof head);
	if (le32toh(head[0]) != PROTO_MAGIC || le32toh(head[1]) != PROTO_VERSION ||
		le32toh(head[3]) > PROTO_MAX)
		return ST_CORRUPT;
	m->n = le32toh(head[3]);
	if (have - PROTO_HEAD < m->n)
		return ST_AGAIN;
	m->type = (enum msg_type)le32toh(head[2]);
	m->p = c->in.p + c->at + PROTO_HEAD;
	c->at += PROTO_HEAD + m->n;
	return ST_OK;
}

enum status chan_recv(struct chan *c, struct msg *m)
{
	char buf[65536];
	enum status st;

	for (;;) {
		ssize_t k;

		st = pop(c, m);
		if (st != ST_AGAIN)
			return st;
		if (c->dead || c->fd < 0)
			return ST_LOST;
		if (c->at) {
			c->in.len -= c->at;
			memmove(c->in.p, c->in.p + c->at, c->in.len);
			c->at = 0;
		}
		k = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && errno == EAGAIN)
			return ST_AGAIN;
		if (k <= 0)
			return ST_LOST;
		str_addn(&c->in, buf, (size_t)k);
		if (c->in.failed)
			return ST_NOMEM;
	}
}
