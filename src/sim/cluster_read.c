/* cluster_read.c: a simulated cluster from its INI file. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/ini.h"
#include "base/units.h"
#include "sim/cluster.h"

enum kind { K_COUNT, K_TIME_S, K_POWER_MW, K_SHARE, K_BYTES, K_BYTES_S };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	bool required;
	double max;
} keys[] = {
	{"nodes", K_COUNT, offsetof(struct cluster, nodes), true, 1e6},
	{"gpus_per_node", K_COUNT, offsetof(struct cluster, gpus_per_node), true, 64},
	{"intra_bandwidth", K_BYTES_S, offsetof(struct cluster, intra_bytes_s), true, 1e15},
	{"intra_latency", K_TIME_S, offsetof(struct cluster, intra_latency_s), false, 1},
	{"inter_bandwidth", K_BYTES_S, offsetof(struct cluster, inter_bytes_s), true, 1e15},
	{"inter_latency", K_TIME_S, offsetof(struct cluster, inter_latency_s), false, 1},
	{"host_power", K_POWER_MW, offsetof(struct cluster, host_mw), false, 1e9},
	{"overlap", K_SHARE, offsetof(struct cluster, overlap), false, 1},
	{"bucket", K_BYTES, offsetof(struct cluster, bucket_bytes), false, 1e12},
	{"board_spread", K_SHARE, offsetof(struct cluster, board_spread), false, 0.5},
	{"noise", K_SHARE, offsetof(struct cluster, noise), false, 0.5},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

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

static enum status set_key(const struct ini *ini, const struct ini_entry *entry,
	const struct key *k, struct cluster *c, struct err *e)
{
	static const enum unit units[] = {UNIT_NONE, UNIT_TIME, UNIT_POWER, UNIT_RATIO, UNIT_BYTES};
	static const double scale[] = {1, 1e-9, 1, 1e-6, 1};
	char *at = (char *)c + k->offset;
	struct err why = ERR_INIT;
	int64_t raw = 0;
	double v;

	if (k->kind == K_BYTES_S) {
		if (!parse_rate(entry->value, &v))
			return err_at(e, ini->file, entry->line, entry->value_col,
				"'%.40s' is not a bandwidth; write it as 12GB/s or 25Gb/s",
				entry->value);
	} else {
		if (unit_parse(units[k->kind], entry->value, &raw, &why))
			return err_at(e, ini->file, entry->line, entry->value_col, "%s", why.msg);
		v = (double)raw * scale[k->kind];
	}
	if (v < (k->kind == K_COUNT ? 1 : 0) || v > k->max)
		return err_at(e, ini->file, entry->line, entry->value_col,
			"'%s' is outside what '%s' can be", entry->value, k->name);
	if (k->kind == K_COUNT)
		*(int *)(void *)at = (int)raw;
	else
		memcpy(at, &v, sizeof(v));
	return ST_OK;
}

static enum status set_text(const struct ini *ini, struct ini_section *s, const char *key, char *to,
	size_t size, bool required, struct err *e)
{
	struct ini_entry *entry = ini_get(s, key);

	if (!entry)
		return required ? err_at(e, ini->file, s->line, 0, "[cluster %s] has no '%s'",
					  s->arg, key)
				: ST_OK;
	if (strlen(entry->value) >= size)
		return err_at(e, ini->file, entry->line, entry->value_col, "longer than %zu bytes",
			size - 1);
	memcpy(to, entry->value, strlen(entry->value) + 1);
	return ST_OK;
}

static enum status from_ini(struct ini *ini, struct cluster *c, struct err *e)
{
	static const char *const sections[] = {"cluster"};
	const char *known[N_KEYS + 2] = {"gpu", "source"};
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
	for (size_t i = 0; i < N_KEYS && !st; i++) {
		struct ini_entry *entry = ini_get(s, keys[i].name);

		known[i + 2] = keys[i].name;
		if (entry)
			st = set_key(ini, entry, &keys[i], c, e);
		else if (keys[i].required)
			st = err_at(e, ini->file, s->line, 0, "[cluster %s] has no '%s'", s->arg,
				keys[i].name);
	}
	if (!st)
		st = set_text(ini, s, "gpu", c->device, sizeof(c->device), true, e);
	if (!st)
		st = set_text(ini, s, "source", c->source, sizeof(c->source), false, e);
	if (!st)
		st = ini_reject_unused(ini, known, N_KEYS + 2, e);
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
