/* amd_metrics.c: the binary gpu_metrics table of amdgpu. */
#include "hw/amd_metrics.h"

#include <string.h>

/* Where the fields are in each version of format 1. 0 = not there (the header is at 0). */
struct layout {
	uint16_t power, energy, throttle;
	uint8_t energy_bytes;
};

static const struct layout layouts[] = {
	[0] = {34, 36, 0, 4},
	[1] = {22, 24, 0, 8},
	[2] = {22, 24, 0, 8},
	[3] = {22, 24, 112, 8},
	[4] = {10, 24, 0, 8},
	[5] = {10, 88, 0, 8},
	[6] = {10, 16, 0, 8},
	[7] = {10, 24, 0, 8},
};

/* The table is in the host's byte order, which is little-endian wherever these cards are. */
static uint64_t get(const unsigned char *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

/* 2^-16 J → uJ: 10^6 / 2^16 = 15625 / 1024. */
static int64_t to_uj(uint64_t units)
{
	return (int64_t)((unsigned __int128)units * 15625 / 1024);
}

enum status amd_metrics_parse(const void *bytes, size_t n, struct amd_metrics *out)
{
	const unsigned char *p = bytes;
	const struct layout *l;
	uint64_t v;
	size_t size;

	memset(out, 0, sizeof(*out));
	if (n < 4)
		return ST_CORRUPT;
	size = get(p, 2);
	out->format = p[2];
	out->content = p[3];
	if (out->format != 1 || (size_t)out->content >= sizeof(layouts) / sizeof(layouts[0]))
		return ST_UNSUPPORTED;
	l = &layouts[out->content];
	if (size > n || size < (size_t)l->energy + l->energy_bytes ||
		(l->throttle && size < (size_t)l->throttle + 8))
		return ST_CORRUPT;
	v = get(p + l->power, 2);
	out->has_power = v != 0 && v != UINT16_MAX;
	if (out->has_power)
		out->power_mw = (int64_t)v * 1000;
	v = get(p + l->energy, l->energy_bytes);
	/* All ones is "not supported"; 0 is the second die of a two-die board, or nothing. */
	out->has_energy = v != 0 && v != (l->energy_bytes == 4 ? UINT32_MAX : UINT64_MAX) &&
			  v < UINT64_MAX / 32;
	if (out->has_energy)
		out->energy_uj = to_uj(v);
	if (l->energy_bytes == 4)
		out->energy_wrap = to_uj(UINT64_C(1) << 32);
	if (l->throttle) {
		v = get(p + l->throttle, 8);
		out->has_throttle = v != UINT64_MAX;
		if (out->has_throttle)
			out->throttle = v;
	}
	return ST_OK;
}
