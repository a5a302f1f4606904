/* samples.c: a short file of every kind that wl-train reads, with something to learn in each.
 *
 *   samples DIR
 */
#include <math.h>
#include <sys/stat.h>
#include "encode.h"

#define N 40

static const char *root;
static uint32_t state = 1;

static int rnd(int n)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (uint32_t)n);
}

static FILE *create(const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void folder(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	mkdir(path, 0777);
}

static void put(const char *name, const void *bytes, size_t len)
{
	FILE *f = create(name);

	fwrite(bytes, 1, len, f);
	fclose(f);
}

/* A pixel of class k: a tint, with noise. */
static int pixel(int k, int c)
{
	return (c == k % 3 ? 170 : 60) + rnd(40);
}

static void pictures(void)
{
	static const char *const class[] = {"amber", "blue"};
	uint8_t rgb[40 * 48 * 3];

	folder("pictures");
	for (int i = 0; i < N; i++) {
		int k = i % 2;
		char name[64];
		uint8_t *out;
		size_t len;

		snprintf(name, sizeof(name), "pictures/%s", class[k]);
		folder(name);
		for (int p = 0; p < 40 * 48; p++)
			for (int c = 0; c < 3; c++)
				rgb[3 * p + c] = (uint8_t)pixel(k, c);
		snprintf(name, sizeof(name), "pictures/%s/%02d.%s", class[k], i,
			i % 4 < 2 ? "jpg" : "png");
		out = i % 4 < 2 ? encode_jpeg(rgb, 48, 40, 3, &len)
				: encode_png(rgb, 48, 40, PNG_FORMAT_RGB, NULL, &len);
		put(name, out, len);
		free(out);
	}
}

static void cifar(const char *name, int classes, int label_bytes)
{
	FILE *f = create(name);

	for (int i = 0; i < N; i++) {
		int k = i % classes;

		if (label_bytes == 2)
			fputc(k % 20, f);
		fputc(k, f);
		for (int c = 0; c < 3; c++)
			for (int p = 0; p < 1024; p++)
				fputc(pixel(k, c), f);
	}
	fclose(f);
}

static void npy_head(FILE *f, const char *descr, const char *shape)
{
	char head[119];

	snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
		descr, shape);
	fprintf(f, "\x93NUMPY\x01%cv%c%-117s\n", 0, 0, head);
}

/* Discs on a ground: image (40,40,3) bytes, mask (40,40) bytes */
static void disc(int i, uint8_t *image, uint8_t *mask)
{
	int y0 = 8 + i * 7 % 24, x0 = 8 + i * 11 % 24, r = 6 + i % 5;

	for (int p = 0; p < 1600; p++) {
		int dy = p / 40 - y0, dx = p % 40 - x0;

		mask[p] = dy * dy + dx * dx < r * r;
		for (int c = 0; c < 3; c++)
			image[3 * p + c] = (uint8_t)pixel(mask[p], c);
	}
}

static void pairs(void)
{
	static uint8_t image[N][4800], mask[N][1600];
	FILE *f, *g;

	folder("stacks");
	folder("singles");
	folder("singles/images");
	folder("singles/masks");
	for (int i = 0; i < N; i++) {
		char name[64];

		disc(i, image[i], mask[i]);
		snprintf(name, sizeof(name), "singles/images/%02d.npy", i);
		f = create(name);
		npy_head(f, "|u1", "(40, 40, 3)");
		fwrite(image[i], 1, sizeof(image[i]), f);
		fclose(f);
		snprintf(name, sizeof(name), "singles/masks/%02d.npy", i);
		f = create(name);
		npy_head(f, "|u1", "(40, 40)");
		fwrite(mask[i], 1, sizeof(mask[i]), f);
		fclose(f);
	}
	f = create("stacks/images.npy");
	g = create("stacks/masks.npy");
	npy_head(f, "|u1", "(40, 40, 40, 3)");
	npy_head(g, "|u1", "(40, 40, 40)");
	fwrite(image, 1, sizeof(image), f);
	fwrite(mask, 1, sizeof(mask), g);
	fclose(f);
	fclose(g);
}

/* Chains of carbon and oxygen whose energy is a sum over atoms and neighbours. */
static void molecules(void)
{
	FILE *xyz = create("molecules.xyz"), *sdf = create("molecules.sdf");
	FILE *json = create("molecules.jsonl");

	for (int i = 0; i < N; i++) {
		int n = 3 + i % 5, z[8];
		double pos[8][3], e = 0;

		for (int a = 0; a < n; a++) {
			z[a] = rnd(3) ? 6 : 8;
			pos[a][0] = 1.3 * a + 0.01 * rnd(20);
			pos[a][1] = a % 2 ? 0.7 : 0;
			pos[a][2] = 0.01 * rnd(30);
			e -= z[a] == 6 ? 1.1 : 2.1;
		}
		fprintf(xyz, "%d\ngdb %d 0 0 0 0 0 0 0 0 0 0 %.4f 0 0 0 0\n", n, i + 1, e);
		fprintf(sdf, "m%d\n  samples\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", i, n,
			n - 1);
		fprintf(json, "{\"z\":[");
		for (int a = 0; a < n; a++) {
			fprintf(xyz, "%c %.4f %.4f %.4f 0\n", z[a] == 6 ? 'C' : 'O', pos[a][0],
				pos[a][1], pos[a][2]);
			fprintf(sdf, "%10.4f%10.4f%10.4f %-3c 0  0  0  0\n", pos[a][0], pos[a][1],
				pos[a][2], z[a] == 6 ? 'C' : 'O');
			fprintf(json, "%s%d", a ? "," : "", z[a]);
		}
		for (int a = 1; a < n; a++)
			fprintf(sdf, "%3d%3d  1  0\n", a, a + 1);
		fprintf(sdf, "M  END\n> <U0>\n%.4f\n\n$$$$\n", e);
		fprintf(json, "],\"pos\":[");
		for (int a = 0; a < n; a++)
			fprintf(json, "%s[%.4f,%.4f,%.4f]", a ? "," : "", pos[a][0], pos[a][1],
				pos[a][2]);
		fprintf(json, "],\"edges\":[");
		for (int a = 1; a < n; a++)
			fprintf(json, "%s[%d,%d]", a > 1 ? "," : "", a - 1, a);
		fprintf(json, "],\"targets\":{\"U0\":%.4f}}\n", e);
	}
	fclose(xyz);
	fclose(sdf);
	fclose(json);
}

static void text(void)
{
	static const char *const word[] = {"bread", "cheese", "wine", "honey"};
	FILE *f = create("text.txt"), *g = create("labelled.tsv");
	FILE *v = create("vocabulary.txt");

	for (int i = 0; i < 300; i++)
		fprintf(f, "On day %d we ate %s and %s, then slept.\n", i, word[i % 4],
			word[(i + 1) % 4]);
	for (int i = 0; i < 120; i++)
		fprintf(g, "%d\t%s with %s is what they asked for\n", i % 2,
			i % 2 ? "bread" : "wine", word[rnd(4)]);
	fprintf(v, "on\nday\nwe\nate\nand\n,\nthen\nslept\n.\nbread\ncheese\nwine\nhoney\n##1\n");
	fclose(f);
	fclose(g);
	fclose(v);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: samples DIR\n");
		return 2;
	}
	root = argv[1];
	mkdir(root, 0777);
	pictures();
	cifar("cifar10.bin", 10, 1);
	cifar("cifar100.bin", 20, 2);
	pairs();
	molecules();
	text();
	return 0;
}
