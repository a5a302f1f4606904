/* data.c: batches, and the choice of a source. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/data.h"

struct array *batch_find(struct batch *b, const char *name)
{
	for (int i = 0; i < b->n; i++)
		if (!strcmp(b->a[i].name, name))
			return &b->a[i];
	return NULL;
}

void *batch_array(struct batch *b, const char *name, enum dtype dt, int n_dims, const int64_t *dim)
{
	struct tensor t = {.dt = dt, .n_dims = n_dims, .cblock = 1};
	struct array *a = batch_find(b, name);
	size_t bytes;
	int i;

	memcpy(t.dim, dim, (size_t)n_dims * sizeof(*dim));
	bytes = tensor_size(&t);
	if (!a && b->n == BATCH_ARRAYS)
		return NULL;
	if (!a)
		a = &b->a[b->n++];
	i = (int)(a - b->a);
	if (bytes > b->cap[i] || !a->data) { /* a rank may get no sample: still an array */
		void *mem = NULL;

		if (posix_memalign(&mem, 64, bytes + bytes / 4 + 64))
			return NULL;
		free(a->data);
		a->data = mem;
		b->cap[i] = bytes + bytes / 4 + 64;
	}
	a->name = name;
	a->dt = dt;
	a->n_dims = n_dims;
	memcpy(a->dim, t.dim, sizeof(a->dim));
	memset(a->data, 0, bytes);
	return a->data;
}

int batch_images(struct batch *b, const struct data *d, int64_t n, float **image, int32_t **label,
	struct fault *f)
{
	const struct data_info *in = &d->info;

	*image = batch_array(
		b, "image", DT_F32, 4, (const int64_t[]){n, in->channels, in->height, in->width});
	*label = batch_array(b, "label", DT_I32, d->spec.kind == DATA_SEGMENT ? 3 : 1,
		(const int64_t[]){n, in->height, in->width});
	return *image && *label
		       ? 0
		       : fault_set(f, "out of memory for a batch of %lld images", (long long)n);
}

void batch_release(struct batch *b)
{
	for (int i = 0; i < b->n; i++)
		free(b->a[i].data);
	memset(b, 0, sizeof(*b));
}

const char *data_formats(enum data_kind kind)
{
	switch (kind) {
	case DATA_IMAGE:
		return "a CIFAR-10 or CIFAR-100 binary file, the folder of them, or a folder of "
		       "JPEG and PNG pictures by class: PATH/cat/1.jpg, or PATH/train/cat/… and "
		       "PATH/val/cat/…";
	case DATA_SEGMENT:
		return "a folder with images.npy and masks.npy, or with folders images and masks "
		       "of .npy files; or IMAGES.npy,MASKS.npy";
	case DATA_CLM:
		return "any text file";
	case DATA_MLM:
	case DATA_SEQCLASS:
		return "any text file; --task classification: lines of label<TAB>text";
	case DATA_MOLECULE:
		return "QM9's .xyz, a file or the folder of them; .sdf; graphs as .jsonl";
	}
	return "data of its kind";
}

static int open_images(struct data *d, struct fault *f)
{
	const char *path = d->spec.path;
	struct stat st;

	if (!path)
		return data_open_gen_image(d, f);
	if (!stat(path, &st) && S_ISDIR(st.st_mode) && !cifar_folder(path))
		return data_open_folder(d, f);
	return data_open_cifar(d, f);
}

int data_open(struct data *d, const struct data_spec *spec, struct fault *f)
{
	*d = (struct data){.spec = *spec};
	switch (spec->kind) {
	case DATA_IMAGE:
		return open_images(d, f);
	case DATA_MLM:
	case DATA_SEQCLASS:
	case DATA_CLM:
		return data_open_text(d, f);
	case DATA_MOLECULE:
		return data_open_molecule(d, f);
	case DATA_SEGMENT:
		return spec->path ? data_open_pairs(d, f) : data_open_gen_segment(d, f);
	}
	return fault_set(f, "this kind of data is not built in");
}

void data_close(struct data *d)
{
	if (d->ops)
		d->ops->close(d);
	d->ops = NULL;
}
