/* decode.c: libjpeg and libpng, whose errors are jumps, kept in one place.
 *
 * What a file says is checked before anything of its size is allocated. All that a decoder has
 * allocated hangs on a struct of the caller's, so that a jump leaves nothing behind. Whatever
 * libjpeg only warns of but means missing or wrong pixels is an error here.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <jerror.h>
#include <png.h>
#include "data/picture.h"

#define SCANS 64 /* of a progressive JPEG; each costs a pass over the picture */

static int too_large(const char *name, int64_t width, int64_t height, struct fault *f)
{
	if (width < 1 || height < 1)
		return fault_set(f, "%s: a picture of %lldx%lld pixels", name, (long long)width,
			(long long)height);
	if (width > PICTURE_SIDE || height > PICTURE_SIDE || width * height > PICTURE_PIXELS)
		return fault_set(f,
			"%s: a picture of %lldx%lld pixels; at most %d a side and %lld in all",
			name, (long long)width, (long long)height, PICTURE_SIDE,
			(long long)PICTURE_PIXELS);
	return 0;
}

/* ---- JPEG ---- */

struct jpeg {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr err;
	struct jpeg_progress_mgr progress;
	jmp_buf jump;
	const char *name;
	size_t len;
	struct fault *f;
	uint8_t *row; /* of CMYK */
	bool begun;
};

static void jpeg_fail(j_common_ptr c)
{
	struct jpeg *j = c->client_data;
	char text[JMSG_LENGTH_MAX];

	c->err->format_message(c, text);
	fault_set(j->f, "%s: not a whole JPEG: %s (at about byte %zu of %zu)", j->name, text,
		j->d.src ? j->len - j->d.src->bytes_in_buffer : 0, j->len);
	longjmp(j->jump, 1);
}

static void jpeg_message(j_common_ptr c, int level)
{
	if (level < 0 && c->err->msg_code != JWRN_EXTRANEOUS_DATA &&
		c->err->msg_code != JWRN_ADOBE_XFORM && c->err->msg_code != JWRN_JFIF_MAJOR)
		jpeg_fail(c);
}

static void jpeg_scans(j_common_ptr c)
{
	struct jpeg *j = c->client_data;

	if (j->d.input_scan_number <= SCANS)
		return;
	fault_set(j->f, "%s: a JPEG of more than %d scans", j->name, SCANS);
	longjmp(j->jump, 1);
}

/* Adobe's CMYK is stored inverted, and nobody else writes any. */
static void from_cmyk(const uint8_t *in, uint8_t *out, int n)
{
	for (int i = 0; i < n; i++, in += 4, out += 3)
		for (int c = 0; c < 3; c++)
			out[c] = (uint8_t)(in[c] * in[3] / 255);
}

static void jpeg_pixels(struct jpeg *j, struct picture *p)
{
	struct jpeg_decompress_struct *d = &j->d;
	size_t stride = 3 * (size_t)p->width;
	bool cmyk = d->out_color_space == JCS_CMYK;

	while (d->output_scanline < d->output_height) {
		uint8_t *to = p->rgb + d->output_scanline * stride;
		JSAMPROW row = cmyk ? j->row : to;

		if (jpeg_read_scanlines(d, &row, 1) == 1 && cmyk)
			from_cmyk(j->row, to, p->width);
	}
}

/* Only what is reached through j and p is changed after setjmp. */
static int jpeg_run(struct jpeg *j, const uint8_t *bytes, int least, struct picture *p)
{
	struct jpeg_decompress_struct *d = &j->d;

	if (setjmp(j->jump))
		return -1;
	jpeg_create_decompress(d);
	j->begun = true;
	d->progress = &j->progress;
	jpeg_mem_src(d, bytes, j->len);
	jpeg_read_header(d, TRUE);
	if (too_large(j->name, d->image_width, d->image_height, j->f))
		return -1;
	d->out_color_space = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK
				     ? JCS_CMYK
				     : JCS_RGB;
	for (d->scale_denom = 8; d->scale_denom > 1; d->scale_denom /= 2)
		if (d->image_width / d->scale_denom >= (JDIMENSION)least &&
			d->image_height / d->scale_denom >= (JDIMENSION)least)
			break;
	jpeg_start_decompress(d);
	p->height = (int)d->output_height;
	p->width = (int)d->output_width;
	p->rgb = malloc(3 * (size_t)p->width * (size_t)p->height);
	j->row = malloc(4 * (size_t)p->width);
	if (!p->rgb || !j->row)
		return fault_set(
			j->f, "%s: out of memory for %dx%d pixels", j->name, p->width, p->height);
	jpeg_pixels(j, p);
	jpeg_finish_decompress(d);
	return 0;
}

static int decode_jpeg(const char *name, const uint8_t *bytes, size_t len, int least,
	struct picture *p, struct fault *f)
{
	struct jpeg j = {.name = name, .len = len, .f = f};
	int rc;

	j.d.err = jpeg_std_error(&j.err);
	j.d.client_data = &j;
	j.err.error_exit = jpeg_fail;
	j.err.emit_message = jpeg_message;
	j.progress.progress_monitor = jpeg_scans;
	rc = jpeg_run(&j, bytes, least > 0 ? least : 1, p);
	if (j.begun)
		jpeg_destroy_decompress(&j.d);
	free(j.row);
	return rc;
}

/* ---- PNG ---- */

struct png {
	png_struct *read;
	png_info *info;
	const char *name;
	const uint8_t *bytes;
	size_t len, at;
	struct fault *f;
	png_byte **rows;
};

static void png_fail(png_struct *read, const char *text)
{
	struct png *g = png_get_error_ptr(read);

	fault_set(
		g->f, "%s: not a whole PNG: %s (at byte %zu of %zu)", g->name, text, g->at, g->len);
	png_longjmp(read, 1);
}

static void png_quiet(png_struct *read, const char *text)
{
	(void)read;
	(void)text;
}

static void png_take(png_struct *read, png_byte *to, size_t n)
{
	struct png *g = png_get_io_ptr(read);

	if (n > g->len - g->at)
		png_error(read, "the file ends early");
	memcpy(to, g->bytes + g->at, n);
	g->at += n;
}

static void png_as_rgb(struct png *g)
{
	png_set_palette_to_rgb(g->read);
	png_set_expand_gray_1_2_4_to_8(g->read);
	png_set_scale_16(g->read);
	png_set_gray_to_rgb(g->read);
	png_set_strip_alpha(g->read);
	png_set_interlace_handling(g->read);
	png_read_update_info(g->read, g->info);
}

/* Only what is reached through g and p is changed after setjmp. */
static int png_run(struct png *g, struct picture *p)
{
	if (setjmp(png_jmpbuf(g->read)))
		return -1;
	png_set_user_limits(g->read, 0x7fffffff, 0x7fffffff);
	png_set_chunk_malloc_max(g->read, 1 << 23);
	png_set_read_fn(g->read, g, png_take);
	png_read_info(g->read, g->info);
	if (too_large(g->name, png_get_image_width(g->read, g->info),
		    png_get_image_height(g->read, g->info), g->f))
		return -1;
	png_as_rgb(g);
	p->height = (int)png_get_image_height(g->read, g->info);
	p->width = (int)png_get_image_width(g->read, g->info);
	if (png_get_rowbytes(g->read, g->info) != 3 * (size_t)p->width)
		return fault_set(g->f, "%s: a PNG of a colour type that is not read", g->name);
	p->rgb = malloc(3 * (size_t)p->width * (size_t)p->height);
	g->rows = malloc((size_t)p->height * sizeof(*g->rows));
	if (!p->rgb || !g->rows)
		return fault_set(
			g->f, "%s: out of memory for %dx%d pixels", g->name, p->width, p->height);
	for (int y = 0; y < p->height; y++)
		g->rows[y] = p->rgb + 3 * (size_t)p->width * (size_t)y;
	png_read_image(g->read, g->rows);
	png_read_end(g->read, NULL);
	return 0;
}

static int decode_png(
	const char *name, const uint8_t *bytes, size_t len, struct picture *p, struct fault *f)
{
	struct png g = {.name = name, .bytes = bytes, .len = len, .f = f};
	int rc = -1;

	g.read = png_create_read_struct(PNG_LIBPNG_VER_STRING, &g, png_fail, png_quiet);
	g.info = g.read ? png_create_info_struct(g.read) : NULL;
	if (g.info)
		rc = png_run(&g, p);
	else
		fault_set(f, "%s: out of memory for a PNG decoder", name);
	png_destroy_read_struct(&g.read, &g.info, NULL);
	free(g.rows);
	return rc;
}

int picture_decode(const char *name, const uint8_t *bytes, size_t len, int least, struct picture *p,
	struct fault *f)
{
	int rc;

	*p = (struct picture){0};
	if (len >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3))
		rc = decode_jpeg(name, bytes, len, least, p, f);
	else if (len >= 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8))
		rc = decode_png(name, bytes, len, p, f);
	else
		rc = fault_set(f, "%s: begins neither as a JPEG nor as a PNG", name);
	if (rc)
		picture_release(p);
	return rc;
}
