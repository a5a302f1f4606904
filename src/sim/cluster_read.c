/* cluster_read.c: a simulated cluster from its INI file. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/ini.h"
#include "base/units.h"
#include "sim/cluster.h"
#include "sim/field.h"

/* "12GB/s" and, as networks are named, "25Gb/s" or "25Gbit/s". */
static bool parse_rate(const char *text, double *out)
{
	size_t n = strlen(text);
	char buf[64];
	int64_t bytes;
	double gbit;

	if (n >= sizeof(buf))
		return false;
	memcpy(buf, text, n + 1);
	if (str_ends(buf, "Gb/s") || str_ends(buf, "Gbit/s")) {
		*strstr(buf, "Gb") = '\0';
		*out = str_to_double(buf, &gbit) ? gbit * 1e9 / 8 : -1;
		return *out > 0;
	}
	if (!str_ends(buf, "/s"))
		return false;
	buf[n - 2] = '\0';
	if (unit_parse(UNIT_BYTES, buf, &bytes, NULL))
		return false;
	*out = (double)bytes;
	return bytes > 0;
}

static enum status set_rate(
	const struct ini *ini, const struct ini_entry *en, void *at, struct err *e)
{
	double v;

	if (!parse_rate(en->value, &v) || v > 1e15)
		return err_at(e, ini->file, en->line, en->value_col,
			"'%.40s' is not a bandwidth; write it as 12GB/s or 25Gb/s", en->value);
	memcpy(at, &v, sizeof(v));
	return ST_OK;
}

#define C(KEY, KIND, UNIT, MEMBER, ...) FIELD(struct cluster, KEY, KIND, UNIT, MEMBER, __VA_ARGS__)
#define RATE(KEY, MEMBER)               C(KEY, F_OWN, UNIT_NONE, MEMBER, .required = true, .own = set_rate)

static const struct field fields[] = {
	C("gpu", F_TEXT, UNIT_NONE, device, .required = true),
	C("source", F_TEXT, UNIT_NONE, source, .required = false),
	C("nodes", F_INT, UNIT_NONE, nodes, .required = true, .min = 1, .max = 1e6),
	C("gpus_per_node", F_INT, UNIT_NONE, gpus_per_node, .required = true, .min = 1, .max = 64),
	RATE("intra_bandwidth", intra_bytes_s),
	C("intra_latency", D_UNIT, UNIT_TIME, intra_latency_s, .max = 1),
	RATE("inter_bandwidth", inter_bytes_s),
	C("inter_latency", D_UNIT, UNIT_TIME, inter_latency_s, .max = 1),
	C("host_power", D_UNIT, UNIT_POWER, host_mw, .max = 1e9),
	C("overlap", D_UNIT, UNIT_RATIO, overlap, .max = 1),
	C("bucket", D_UNIT, UNIT_BYTES, bucket_bytes, .max = 1e12),
	C("board_spread", D_UNIT, UNIT_RATIO, board_spread, .max = 0.5),
	C("noise", D_UNIT, UNIT_RATIO, noise, .max = 0.5),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static enum status from_ini(struct ini *ini, struct cluster *c, struct err *e)
{
	static const char *const sections[] = {"cluster"};
	const char *known[N_FIELDS];
	struct ini_section *s = ini_section(ini, "cluster", 0);
	struct ini_entry *gpu;
	struct err why = ERR_INIT;
	enum status st = ini_reject_sections(ini, sections, 1, e);

	memset(c, 0, sizeof(*c));
	c->bucket_bytes = 25e6;
	c->overlap = 0.8;
	if (st)
		return st;
	if (!s || !*s->arg || strlen(s->arg) >= sizeof(c->name))
		return err_at(
			e, ini->file, s ? s->line : 0, 0, "expected a section [cluster NAME]");
	memcpy(c->name, s->arg, strlen(s->arg) + 1);
	st = fields_set(ini, s, fields, N_FIELDS, c, e);
	for (size_t i = 0; i < N_FIELDS; i++)
		known[i] = fields[i].key;
	if (!st)
		st = ini_reject_unused(ini, known, N_FIELDS, e);
	if (st)
		return st;
	gpu = ini_get(s, "gpu");
	st = profile_gpu(c->device, &c->gpu, &why);
	if (st)
		return err_at(e, ini->file, gpu->line, gpu->value_col, "%s", why.msg);
	return ST_OK;
}

enum status cluster_parse(
	const char *file, const char *text, size_t len, struct cluster *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	st = from_ini(&ini, out, e);
	ini_release(&ini);
	return st;
}

enum status cluster_read(const char *path, struct cluster *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_file(&ini, path, e);

	if (st)
		return st;
	st = from_ini(&ini, out, e);
	ini_release(&ini);
	return st;
}
