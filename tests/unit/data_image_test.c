/* Pictures and .npy arrays: every variant that is read, and every way to be wrong. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include "data/data.h"
#include "data/npy.h"
#include "data/picture.h"
#include "encode.h"
#include "tap.h"

#define W 20
#define H 12

static int decode(const void *bytes, size_t len, struct picture *p, struct fault *f)
{
	*f = (struct fault){0};
	return picture_decode("x", bytes, len, H, p, f);
}

/* Decodes and frees bytes; is every pixel near this colour? */
static void is_colour(void *bytes, size_t len, int r, int g, int b, int tolerance, const char *what)
{
	const int want[3] = {r, g, b};
	struct picture p;
	struct fault f;
	int worst = 0;

	if (!ok(!decode(bytes, len, &p, &f), "%s is read (%s)", what, f.msg))
		return;
	for (int i = 0; i < p.width * p.height * 3; i++)
		worst = abs(p.rgb[i] - want[i % 3]) > worst ? abs(p.rgb[i] - want[i % 3]) : worst;
	ok(p.width == W && p.height == H && worst <= tolerance, "... as RGB of its size (%d off)",
		worst);
	picture_release(&p);
	free(bytes);
}

static void reads_every_kind(void)
{
	static uint8_t v[W * H * 4];
	static uint16_t deep[W * H * 3];
	uint8_t colours[16] = {0, 0, 0, 10, 200, 30, 0, 0, 0};
	size_t len;
	void *out;

	memset(v, 77, sizeof(v));
	out = encode_jpeg(v, W, H, 1, &len);
	is_colour(out, len, 77, 77, 77, 2, "a grey JPEG");
	out = encode_png(v, W, H, PNG_FORMAT_GRAY, NULL, &len);
	is_colour(out, len, 77, 77, 77, 0, "a grey PNG");
	for (int i = 0; i < W * H; i++)
		memcpy(v + 3 * i, "\xc8\x64\x1e", 3);
	out = encode_jpeg(v, W, H, 3, &len);
	is_colour(out, len, 200, 100, 30, 4, "a JPEG");
	out = encode_png(v, W, H, PNG_FORMAT_RGB, NULL, &len);
	is_colour(out, len, 200, 100, 30, 0, "a PNG");
	for (int i = 0; i < W * H; i++)
		memcpy(v + 4 * i, "\xc8\x64\x1e\x80", 4);
	out = encode_png(v, W, H, PNG_FORMAT_RGBA, NULL, &len);
	is_colour(out, len, 200, 100, 30, 0, "a PNG with alpha");
	for (int i = 0; i < W * H; i++)
		memcpy(v + 4 * i, "\xff\x80\x00\xff", 4);
	out = encode_jpeg(v, W, H, 4, &len);
	is_colour(out, len, 255, 128, 0, 6, "a CMYK JPEG");
	memset(v, 1, sizeof(v));
	out = encode_png(v, W, H, PNG_FORMAT_RGB_COLORMAP, colours, &len);
	is_colour(out, len, 10, 200, 30, 0, "a PNG with a palette");
	for (int i = 0; i < W * H * 3; i++)
		deep[i] = 65535;
	out = encode_png(deep, W, H, PNG_FORMAT_LINEAR_RGB, NULL, &len);
	is_colour(out, len, 255, 255, 255, 0, "a PNG of 16 bits");
}

/* Cut anywhere it is refused; with a byte changed anywhere it is read or refused, never worse. */
static void survives(const uint8_t *bytes, size_t len, const char *what)
{
	uint8_t *copy = malloc(len);
	struct picture p;
	struct fault f;
	int read = 0, silent = 0;

	for (size_t cut = 0; cut < len - 2; cut++) {
		memcpy(copy, bytes, cut);
		if (!decode(copy, cut, &p, &f)) {
			read++;
			picture_release(&p);
		} else {
			silent += !f.set || strncmp(f.msg, "x: ", 3) != 0;
		}
	}
	is_int(read, 0, what);
	is_int(silent, 0, "... each time with a message that names the file");
	silent = 0;
	for (size_t at = 0; at < len; at++) {
		memcpy(copy, bytes, len);
		copy[at] ^= 0x5a;
		if (!decode(copy, len, &p, &f))
			picture_release(&p);
		else
			silent += !f.set;
	}
	is_int(silent, 0, "... and survives each byte changed");
	free(copy);
}

static void refuses_pictures(void)
{
	static uint8_t v[W * H * 3];
	uint8_t *out;
	size_t len;
	struct picture p;
	struct fault f;

	for (int i = 0; i < W * H * 3; i++)
		v[i] = (uint8_t)(i * 37);
	out = encode_jpeg(v, W, H, 3, &len);
	survives(out, len, "a JPEG cut anywhere is refused");
	ok(decode(out, len / 2, &p, &f) < 0, "a JPEG of half its bytes is refused");
	has(f.msg, "x: not a whole JPEG: ", "by what libjpeg says");
	for (size_t i = 0; i + 8 < len; i++)
		if (out[i] == 0xff && out[i + 1] == 0xc0)
			memcpy(out + i + 5, "\x90\0\x90\0", 4);
	ok(decode(out, len, &p, &f) < 0, "a JPEG that says it is enormous is refused");
	has(f.msg, "x: a picture of 36864x36864 pixels; at most 16384 a side",
		"before it is decoded");
	free(out);
	out = encode_png(v, W, H, PNG_FORMAT_RGB, NULL, &len);
	survives(out, len, "a PNG cut anywhere is refused");
	ok(decode(out, len / 2, &p, &f) < 0, "a PNG of half its bytes is refused");
	has(f.msg, "x: not a whole PNG: the file ends early (at byte ", "and where is said");
	free(out);
	ok(decode("GIF89a..", 8, &p, &f) < 0, "another format is refused");
	is_str(f.msg, "x: begins neither as a JPEG nor as a PNG", "by its first bytes");
}

static void resizes(void)
{
	static const float zero[3] = {0}, one[3] = {1, 1, 1};
	uint8_t rgb[4 * 8 * 3];
	float out[3 * 4 * 4];
	struct picture p = {4, 8, rgb};
	struct window w = picture_window(4, 8, 1, false, 0);

	for (int i = 0; i < 4 * 8 * 3; i++)
		rgb[i] = (uint8_t)(i / 3 % 8 * 10);
	is_near(w.x, 2, 0, "evaluation looks at the middle");
	picture_resize(&p, &w, 4, zero, one, out);
	is_near(out[1], 30, 1e-4, "at its own size a window is cut out as it is");
	w.flip = true;
	picture_resize(&p, &w, 4, zero, one, out);
	is_near(out[0], 50, 1e-4, "or mirrored");
	w = (struct window){.side = 4};
	picture_resize(&p, &w, 2, zero, one, out);
	is_near(out[0] + out[1], 30, 3, "shrinking averages");
	w = picture_window(480, 640, 0.875, true, 0xffffffffffffu);
	ok(w.y + w.side <= 480 && w.x + w.side <= 640 && w.x > 219, "windows stay inside");
}

static size_t npy(uint8_t *to, const char *descr, const char *order, const char *shape,
	const void *values, size_t len)
{
	char head[128];
	int n = snprintf(head, sizeof(head),
		"{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape);

	memcpy(to, "\x93NUMPY\x01\0", 8);
	to[8] = (uint8_t)n;
	to[9] = 0;
	memcpy(to + 10, head, (size_t)n);
	memcpy(to + 10 + n, values, len);
	return 10 + (size_t)n + len;
}

static void npy_is(const char *descr, const void *values, size_t size, double want)
{
	uint8_t bytes[300];
	struct fault f = {0};
	struct npy a;
	size_t len = npy(bytes, descr, "False", "(2,)", values, 2 * size);

	ok(!npy_parse("x", bytes, len, &a, &f), "'%s' is read (%s)", descr, f.msg);
	is_near(npy_value(&a, 1), want, 0, "... with its value");
}

static void npy_not(const char *descr, const char *order, const char *shape, size_t size,
	const char *msg, const char *what)
{
	uint8_t bytes[400], values[64] = {0};
	struct fault f = {0};
	struct npy a;
	size_t len = npy(bytes, descr, order, shape, values, size);

	ok(npy_parse("x", bytes, len, &a, &f) < 0, "%s is refused", what);
	has(f.msg, msg, "and why is said");
}

static void reads_npy(void)
{
	uint8_t bytes[300];
	struct fault f = {0};
	struct npy a;
	size_t len;

	npy_is("|u1", "\x01\xfe", 1, 254);
	npy_is("|b1", "\x00\x01", 1, 1);
	npy_is("|i1", "\x01\xfe", 1, -2);
	npy_is("<u2", "\x00\x00\xfe\xff", 2, 65534);
	npy_is(">i2", "\x00\x00\xff\xfe", 2, -2);
	npy_is("<i4", (const int32_t[]){0, -70000}, 4, -70000);
	npy_is(">i4", "\0\0\0\0\0\1\0\0", 4, 65536);
	npy_is("<i8", (const int64_t[]){0, -7}, 8, -7);
	npy_is(">i8", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0", 8, 256);
	npy_is("<f4", (const float[]){0, 1.5f}, 4, 1.5);
	npy_is(">f4", "\0\0\0\0\x3f\xc0\0\0", 4, 1.5);
	npy_is("<f8", (const double[]){0, -2.25}, 8, -2.25);
	npy_is(">f8", "\0\0\0\0\0\0\0\0\xc0\x02\0\0\0\0\0\0", 8, -2.25);
	len = npy(bytes, "|u1", "True", "(2, 3)", "\x00\x0a\x01\x0b\x02\x0c", 6);
	ok(!npy_parse("x", bytes, len, &a, &f), "Fortran order is read");
	is_near(npy_value(&a, a.stride[0] + 2 * a.stride[1]), 12, 0, "by its strides");
	npy_not("<f2", "False", "(2,)", 4, "x: values of type '<f2'; read are", "half precision");
	npy_not("<c8", "False", "(2,)", 16, "x: values of type '<c8'", "a complex type");
	npy_not("|u1", "Maybe", "(2,)", 2, "x: expected a header with", "a damaged header");
	npy_not("|u1", "False", "(2, 2, 2, 2, 2)", 32, "x: expected a shape of 1 to 4 sizes",
		"five axes");
	npy_not("|u1", "False", "(2, 0)", 0, "x: an empty or impossible shape", "an empty array");
	npy_not("|u1", "False", "(99999999999, 99999999999)", 4, "x: an empty or impossible shape",
		"a shape without end");
	npy_not("|u1", "False", "(7,)", 6,
		"x: truncated: 6 bytes of values, its shape and type mean 7", "a cut array");
	npy_not("|u1", "False", "(7,)", 9, "x: damaged: 9 bytes of values",
		"an array with more than it says");
	f = (struct fault){0};
	ok(npy_parse("x", (const uint8_t *)"PK\3\4........", 12, &a, &f) < 0, "an .npz is refused");
	has(f.msg, "x: not a .npy file", "and why is said");
}

static char dir[] = "/tmp/wattlaw-pairs-XXXXXX";

static void put(const char *name, const char *descr, const char *order, const char *shape,
	const void *values, size_t size)
{
	uint8_t *bytes = malloc(size + 300);
	char path[256];
	size_t len = npy(bytes, descr, order, shape, values, size);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f))
		printf("# cannot write %s\n", path);
	free(bytes);
}

static int open_pairs(struct data *d, struct fault *f)
{
	struct data_spec s = {
		.kind = DATA_SEGMENT, .path = dir, .height = 16, .width = 16, .seed = 1};

	*f = (struct fault){0};
	return data_open(d, &s, f);
}

/* The held-out image of two of 16 × 16 whose value is row + column in channel 1 of 2, 0 in 0. */
static void pair_is(const char *what)
{
	struct batch b = {0};
	struct fault f;
	struct data d;
	int64_t index = 0;
	const float *v;
	bool good = true;

	if (!ok(!open_pairs(&d, &f), "%s is read (%s)", what, f.msg))
		return;
	ok(d.info.channels == 2 && d.info.classes == 3 && d.info.n_train == 1 && d.info.n_eval == 1,
		"... with its channels, classes and samples");
	ok(!d.ops->fill(&d, &index, 1, 0, true, &b, &f), "... and makes a batch");
	v = batch_find(&b, "image")->data;
	for (int i = 0; i < 256; i++)
		good &= v[i] == v[0] &&
			fabsf(v[256 + i] - v[256] - (float)(i / 16 + i % 16) * (v[257] - v[256])) <
				1e-3f;
	ok(good && v[257] > v[256], "... of the right pixels");
	is_int(((int32_t *)batch_find(&b, "label")->data)[17], 2, "... and labels");
	is_int(((int32_t *)batch_find(&b, "label")->data)[18], -1,
		"... but none where there is none");
	batch_release(&b);
	data_close(&d);
}

static void refuse_pairs(const char *msg, const char *what)
{
	struct fault f;
	struct data d;

	ok(open_pairs(&d, &f) < 0, "%s is refused", what);
	has(f.msg, msg, "and why is said");
}

static void reads_pairs(void)
{
	static float last[2][16][16][2], first[2][2][16][16], fortran[2][16][16][2];
	static uint8_t mask[2][16][16];
	static int64_t wide[2][16][16];

	for (int n = 0; n < 2; n++)
		for (int y = 0; y < 16; y++)
			for (int x = 0; x < 16; x++) {
				last[n][y][x][1] = first[n][1][y][x] = (float)(x + y);
				/* the first index is the fastest: n, y, x, c */
				((float *)fortran)[n + 2 * (y + 16 * (x + 16))] = (float)(x + y);
				mask[n][y][x] = y == 1 ? (x == 2 ? 255 : 2) : 0;
				wide[n][y][x] = mask[n][y][x] == 255 ? -1 : mask[n][y][x];
			}
	put("masks.npy", "|u1", "False", "(2, 16, 16)", mask, sizeof(mask));
	put("images.npy", "<f4", "False", "(2, 16, 16, 2)", last, sizeof(last));
	pair_is("a stack with channels last");
	put("images.npy", "<f4", "False", "(2, 2, 16, 16)", first, sizeof(first));
	pair_is("a stack with channels first");
	put("masks.npy", "<i8", "False", "(2, 16, 16)", wide, sizeof(wide));
	put("images.npy", "<f4", "True", "(2, 16, 16, 2)", fortran, sizeof(fortran));
	pair_is("a stack in Fortran order, masks of 64 bits with -1");
	put("images.npy", "<f4", "False", "(2, 8, 32, 2)", last, sizeof(last));
	refuse_pairs("masks.npy: 16x16 pixels, but its image has 32x8", "a mask of another shape");
	put("images.npy", "<f4", "False", "(4, 16, 16)", last, 4096);
	refuse_pairs("masks.npy: 2 masks for the 4 images of", "a mask too few");
	last[1][3][3][0] = NAN;
	put("images.npy", "<f4", "False", "(2, 16, 16, 2)", last, sizeof(last));
	refuse_pairs("image 1 has values that are not numbers", "an image with NaN");
	last[1][3][3][0] = 0;
	put("images.npy", "<f4", "False", "(2, 16, 16, 2)", last, sizeof(last));
	wide[1][4][5] = 300;
	put("masks.npy", "<i8", "False", "(2, 16, 16)", wide, sizeof(wide));
	refuse_pairs("masks.npy: pair 1, row 4, column 5: label 300, expected 0 to 254",
		"a wrong label");
	memset(mask, 255, 300);
	memset((uint8_t *)mask + 300, 0, sizeof(mask) - 300);
	put("masks.npy", "|u1", "False", "(2, 16, 16)", mask, sizeof(mask));
	refuse_pairs(
		"all labels are 0 or 255; expected at least two classes", "a mask of 0 and 255");
	put("masks.npy", "|u1", "False", "(512,)", mask, sizeof(mask));
	refuse_pairs("512 masks for the 2 images", "a flat mask");
}

int main(void)
{
	char path[256];

	reads_every_kind();
	refuses_pictures();
	resizes();
	reads_npy();
	if (!mkdtemp(dir))
		return 1;
	reads_pairs();
	snprintf(path, sizeof(path), "%s/images.npy", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/masks.npy", dir);
	unlink(path);
	rmdir(dir);
	return tap_done();
}
