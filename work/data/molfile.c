/* molfile.c: opens a file of molecules, or a folder of .xyz files as QM9 is published. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/molfile.h"

void molecule_list_release(struct molecule_list *list)
{
	for (int64_t i = 0; i < list->n; i++)
		free(list->m[i].edge);
	free(list->m);
	*list = (struct molecule_list){0};
}

/* Atoms in one place have no angle and an infinite envelope. */
static bool overlapping(const struct molecule *m, int *a, int *b)
{
	for (*a = 0; *a < m->n; ++*a)
		for (*b = *a + 1; *b < m->n; ++*b) {
			double s = 0;

			for (int k = 0; k < 3; k++) {
				double d = (double)m->pos[*a][k] - m->pos[*b][k];

				s += d * d;
			}
			if (s < 1e-4)
				return true;
		}
	return false;
}

int molecule_add(struct molecule_list *list, struct molecule *m, struct lines *l, int64_t where)
{
	int a, b;

	if (overlapping(m, &a, &b)) {
		fault_set(l->f, "%s:%lld: atoms %d and %d of this molecule are at the same place",
			l->path, (long long)where, a + 1, b + 1);
		goto fail;
	}
	if (list->n == list->cap) {
		int64_t cap = list->cap ? 2 * list->cap : 256;
		struct molecule *more = realloc(list->m, (size_t)cap * sizeof(*more));

		if (!more) {
			fault_set(l->f, "%s: out of memory for the molecules", l->path);
			goto fail;
		}
		list->m = more;
		list->cap = cap;
	}
	list->m[list->n++] = *m;
	return 0;
fail:
	free(m->edge);
	m->edge = NULL;
	return -1;
}

static int read_sdf(struct lines *l, const char *target, struct molecule_list *list)
{
	char path[4096], *bytes = NULL;
	struct lines csv;
	struct stat st;
	size_t len;
	int rc = -1;

	if ((size_t)snprintf(path, sizeof(path), "%s.csv", l->path) >= sizeof(path) ||
		stat(path, &st))
		return sdf_parse(l, target, NULL, list);
	if (!file_read(path, &bytes, &len, l->f)) {
		lines_init(&csv, path, bytes, len, l->f);
		rc = sdf_parse(l, target, &csv, list);
	}
	free(bytes);
	return rc;
}

static int read_one(
	const char *path, const char *target, struct molecule_list *list, struct fault *f)
{
	char *bytes;
	struct lines l;
	size_t len;
	int rc;

	if (file_read(path, &bytes, &len, f))
		return -1;
	lines_init(&l, path, bytes, len, f);
	if (file_suffix(path, ".sdf") || file_suffix(path, ".sd"))
		rc = read_sdf(&l, target, list);
	else if (file_suffix(path, ".jsonl") || file_suffix(path, ".ndjson") ||
		 file_suffix(path, ".json"))
		rc = graph_jsonl_parse(&l, target, list);
	else
		rc = xyz_parse(&l, target, list);
	free(bytes);
	return rc;
}

static int is_xyz(const struct dirent *e)
{
	return e->d_name[0] != '.' && file_suffix(e->d_name, ".xyz");
}

static int read_folder(
	const char *dir, const char *target, struct molecule_list *list, struct fault *f)
{
	struct dirent **name;
	int n = scandir(dir, &name, is_xyz, alphasort), rc = 0;

	if (n < 0)
		return fault_set(f, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char path[4096];

		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name[i]->d_name) >=
			sizeof(path))
			rc = fault_set(f, "%s: the path is too long", dir);
		rc = rc ? rc : read_one(path, target, list, f);
		free(name[i]);
	}
	free(name);
	return !rc && !n ? fault_set(f, "%s: no .xyz file in this folder", dir) : rc;
}

static void get(const struct molecule_source *s, int64_t id, bool eval, struct molecule *m)
{
	const struct molecule_list *list = s->state;

	*m = list->m[data_split(id, eval)];
}

static void close_list(struct molecule_source *s)
{
	molecule_list_release(s->state);
	free(s->state);
}

int molecule_read(struct data *d, struct molecule_source *s, struct fault *f)
{
	struct molecule_list *list = calloc(1, sizeof(*list));
	const char *path = d->spec.path;
	struct stat st;
	int rc;

	if (!list)
		return fault_set(f, "out of memory");
	if (stat(path, &st))
		rc = fault_set(f, "%s: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		rc = read_folder(path, d->spec.target, list, f);
	else
		rc = read_one(path, d->spec.target, list, f);
	if (!rc && list->n < 2)
		rc = fault_set(
			f, "%s: %lld molecules; expected at least 2", path, (long long)list->n);
	if (rc) {
		molecule_list_release(list);
		free(list);
		return -1;
	}
	data_split_counts(list->n, &d->info);
	d->info.unit = list->unit;
	s->state = list;
	s->get = get;
	s->close = close_list;
	return 0;
}
