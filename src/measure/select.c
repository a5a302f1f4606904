/* select.c: see select.h. */
#include "measure/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/mem.h"
#include "base/str.h"

#define TOKEN_MAX 128

struct pick {
	const struct hw *hw;
	struct selection *sel;
	const char *(*getenv_fn)(void *, const char *);
	void *arg;
	struct str why, warning;
};

/* ---- helpers ---- */

/* Next entry of a comma-separated list, trimmed, into buf. false at the end. An entry too long is
 * cut, which makes it invalid. */
static bool next_token(const char **list, char buf[TOKEN_MAX])
{
	const char *p = *list, *end;
	size_t n;

	if (!p)
		return false;
	end = strchr(p, ',');
	n = end ? (size_t)(end - p) : strlen(p);
	*list = end ? end + 1 : NULL;
	while (n && isspace((unsigned char)*p)) {
		p++;
		n--;
	}
	while (n && isspace((unsigned char)p[n - 1]))
		n--;
	if (n >= TOKEN_MAX)
		n = TOKEN_MAX - 1;
	memcpy(buf, p, n);
	buf[n] = 0;
	return true;
}

/* A whole number of any length of digits; -1 when it is none. */
static long index_of(const char *text)
{
	char *end;
	long v;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	v = strtol(text, &end, 10);
	return errno || *end ? -1 : v;
}

static bool is_gpu_of(const struct hw *hw, size_t id, const char *backend)
{
	return hw_device(hw, id)->kind == DEV_GPU && !strcmp(hw_backend(hw, id)->name, backend);
}

static size_t count_gpus(const struct hw *hw, const char *backend)
{
	size_t n = 0;

	for (size_t i = 0; i < hw_n_devices(hw); i++)
		n += is_gpu_of(hw, i, backend) && hw_device(hw, i)->parent < 0;
	return n;
}

/* The board with that place in its vendor's order; -1 when there is none. */
static int by_index(const struct hw *hw, const char *backend, long index)
{
	for (size_t i = 0; i < hw_n_devices(hw); i++)
		if (is_gpu_of(hw, i, backend) && hw_device(hw, i)->parent < 0 &&
			hw_device(hw, i)->index == index)
			return (int)i;
	return -1;
}

/* A key or a unique prefix of one, whatever the case of its letters. */
static int by_key(const struct hw *hw, const char *backend, const char *key)
{
	size_t len = strlen(key);
	int found = -1;

	for (size_t i = 0; i < hw_n_devices(hw) && len; i++) {
		if (!is_gpu_of(hw, i, backend) || strncasecmp(hw_device(hw, i)->key, key, len))
			continue;
		if (!hw_device(hw, i)->key[len])
			return (int)i;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

/* A device and all that contain it: the sensor may be theirs. */
static void turn_on(struct pick *p, size_t id)
{
	for (size_t guard = 0; guard < p->sel->n; guard++) {
		int parent = hw_device(p->hw, id)->parent;
		size_t first, n, k;

		p->sel->on[id] = true;
		if (parent < 0)
			return;
		for (k = 0; k < hw_n_backends(p->hw); k++) {
			hw_backend_devices(p->hw, k, &first, &n);
			if (id >= first && id < first + n)
				break;
		}
		if (k == hw_n_backends(p->hw) || (size_t)parent >= n)
			return;
		id = first + (size_t)parent;
	}
}

static void say(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct str *s, const char *fmt, ...)
{
	va_list ap;

	if (s->len)
		str_add(s, "; ");
	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

static void all_of(struct pick *p, const char *backend)
{
	for (size_t i = 0; i < p->sel->n; i++)
		if (is_gpu_of(p->hw, i, backend))
			p->sel->on[i] = true;
}

/* ---- what a variable lists ---- */

struct list {
	int id[256]; /* hw ids in the order listed */
	size_t n;
	bool indices; /* at least one entry was a number */
	bool invalid;
	bool unmatched_mig; /* named an instance that is not listed here */
	long out_of_range; /* first index with no board, -1 = none */
	size_t entries; /* written, valid or not */
	char stop[TOKEN_MAX]; /* the entry at which reading stopped */
};

static void list_add(struct list *l, int id)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->id[i] == id)
			return;
	if (l->n < sizeof(l->id) / sizeof(l->id[0]))
		l->id[l->n++] = id;
}

/* "MIG-GPU-<uuid>/<gi>/<ci>" (drivers before 470) names its parent. */
static int by_old_mig(const struct hw *hw, const char *backend, const char *token)
{
	char uuid[TOKEN_MAX];
	char *slash;

	if (strncasecmp(token, "MIG-GPU-", 8))
		return -1;
	snprintf(uuid, sizeof(uuid), "%s", token + 4);
	slash = strchr(uuid, '/');
	if (!slash)
		return -1;
	*slash = 0;
	return by_key(hw, backend, uuid);
}

/* Read a list the way CUDA does: entries after the first invalid one do not count. among: indices
 * count in this list instead of in the vendor's order. */
static void read_list(const struct pick *p, const char *backend, const char *text,
	const struct list *among, struct list *l)
{
	char token[TOKEN_MAX];

	*l = (struct list){.out_of_range = -1};
	while (next_token(&text, token)) {
		long index = index_of(token);
		int id;

		if (!*token && !l->entries && !text)
			return; /* "": none */
		l->entries++;
		if (l->invalid)
			continue;
		if (index >= 0) {
			l->indices = true;
			if (among)
				id = (size_t)index < among->n ? among->id[index] : -1;
			else
				id = by_index(p->hw, backend, index);
			if (id < 0)
				l->out_of_range = index;
		} else {
			id = by_key(p->hw, backend, token);
			if (id < 0)
				id = by_old_mig(p->hw, backend, token);
			l->unmatched_mig |= id < 0 && !strncasecmp(token, "MIG-", 4);
		}
		if (id >= 0) {
			list_add(l, id);
			continue;
		}
		l->invalid = true;
		snprintf(l->stop, sizeof(l->stop), "%s", token);
	}
}

static bool mixed_models(const struct hw *hw, const char *backend)
{
	const char *model = NULL;

	for (size_t i = 0; i < hw_n_devices(hw); i++) {
		const struct device *d = hw_device(hw, i);

		if (!is_gpu_of(hw, i, backend) || d->parent >= 0)
			continue;
		if (model && strcmp(model, d->model[0] ? d->model : d->name))
			return true;
		model = d->model[0] ? d->model : d->name;
	}
	return false;
}

static void apply(struct pick *p, const char *backend, const char *name, const char *value,
	const struct list *l)
{
	say(&p->why, "%s=%s:", name, value);
	for (size_t i = 0; i < l->n; i++) {
		turn_on(p, (size_t)l->id[i]);
		str_addf(&p->why, "%s %s", i ? "," : "", hw_device(p->hw, (size_t)l->id[i])->key);
	}
	if (!l->n)
		str_addf(&p->why, " no GPU%s", count_gpus(p->hw, backend) ? "" : " answers here");
}

static void ambiguous(
	struct pick *p, const char *name, const char *value, const char *why, const char *fix)
{
	p->sel->ambiguous = true;
	say(&p->why, "%s=%s: ambiguous, no GPU counted", name, value);
	say(&p->warning, "%s=%s does not say which GPU is meant: %s; %s", name, value, why, fix);
}

/* CUDA_VISIBLE_DEVICES: what the job's own runtime obeys. */
static void by_cuda(struct pick *p, const char *backend, const char *value)
{
	const char *order = p->getenv_fn(p->arg, "CUDA_DEVICE_ORDER");
	bool pci = order && !strcmp(order, "PCI_BUS_ID");
	size_t boards = count_gpus(p->hw, backend), listed = 0;
	struct list l;

	read_list(p, backend, value, NULL, &l);
	for (size_t i = 0; i < l.n; i++)
		listed += hw_device(p->hw, (size_t)l.id[i])->parent < 0;
	if (l.indices && !pci && listed < boards && mixed_models(p->hw, backend)) {
		ambiguous(p, "CUDA_VISIBLE_DEVICES", value,
			"CUDA numbers boards of different models fastest first, the driver by PCI "
			"address",
			"set CUDA_DEVICE_ORDER=PCI_BUS_ID or name the GPUs by UUID");
		return;
	}
	if (l.unmatched_mig && boards > 1) {
		ambiguous(p, "CUDA_VISIBLE_DEVICES", value,
			"it names a MIG instance that the driver does not list here",
			"name its GPU with --devices");
		return;
	}
	if (l.unmatched_mig && boards == 1)
		list_add(&l, by_index(p->hw, backend, 0) >= 0 ? by_index(p->hw, backend, 0) : 0);
	apply(p, backend, "CUDA_VISIBLE_DEVICES", value, &l);
	if (l.invalid && !l.unmatched_mig && boards && strcmp(l.stop, "-1") &&
		strcmp(l.stop, "NoDevFiles"))
		say(&p->warning,
			"CUDA stops at '%s' in CUDA_VISIBLE_DEVICES=%s: it names no GPU here",
			l.stop, value);
}

/* Lists written by somebody outside (Slurm, a container's runtime): ids of the whole node, while
 * the driver may show only what this job or container was given. */
static void by_granted(struct pick *p, const char *backend, const char *name, const char *value)
{
	size_t boards = count_gpus(p->hw, backend);
	struct list l;

	read_list(p, backend, value, NULL, &l);
	if (l.entries == boards && boards && l.indices) {
		/* Exactly as many as we see: either the numbers fit, or the boards were numbered
		 * anew. */
		all_of(p, backend);
		say(&p->why, "%s=%s: all %zu GPUs seen here", name, value, boards);
		return;
	}
	if (l.invalid && l.out_of_range >= 0 && boards) {
		ambiguous(p, name, value,
			"it has ids of the whole node, but fewer GPUs are seen here and not as "
			"many as listed",
			"name the GPUs with --devices or CUDA_VISIBLE_DEVICES");
		return;
	}
	apply(p, backend, name, value, &l);
	if (l.invalid && boards)
		say(&p->warning, "'%s' in %s=%s names no GPU here", l.stop, name, value);
}

/* SLURM_STEP_GPUS, else SLURM_JOB_GPUS. */
static bool by_slurm(struct pick *p, const char *backend)
{
	static const char *const names[] = {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"};

	for (size_t i = 0; i < 2; i++) {
		const char *value = p->getenv_fn(p->arg, names[i]);

		if (value && *value) {
			by_granted(p, backend, names[i], value);
			return true;
		}
	}
	return false;
}

static void nvidia(struct pick *p)
{
	const char *cuda = p->getenv_fn(p->arg, "CUDA_VISIBLE_DEVICES");
	const char *container = p->getenv_fn(p->arg, "NVIDIA_VISIBLE_DEVICES");

	if (cuda) {
		by_cuda(p, "nvml", cuda);
		return;
	}
	if (by_slurm(p, "nvml"))
		return;
	if (container &&
		(!strcmp(container, "none") || !strcmp(container, "void") || !*container)) {
		/* "void" and "" leave the container as it is: without the driver, unless somebody
		 * mounted it. */
		if (!strcmp(container, "none")) {
			say(&p->why, "NVIDIA_VISIBLE_DEVICES=none: no GPU");
			return;
		}
	} else if (container && strcmp(container, "all")) {
		by_granted(p, "nvml", "NVIDIA_VISIBLE_DEVICES", container);
		return;
	}
	all_of(p, "nvml");
}

static void amd(struct pick *p)
{
	const char *rocr = p->getenv_fn(p->arg, "ROCR_VISIBLE_DEVICES");
	const char *hip = p->getenv_fn(p->arg, "HIP_VISIBLE_DEVICES");
	const char *cuda = p->getenv_fn(p->arg, "CUDA_VISIBLE_DEVICES");
	struct list outer, inner;

	if (!rocr && !hip && !cuda) {
		if (!by_slurm(p, "amdgpu"))
			all_of(p, "amdgpu");
		return;
	}
	/* HIP (or CUDA, which HIP obeys) counts in what ROCR left. */
	if (rocr)
		read_list(p, "amdgpu", rocr, NULL, &outer);
	if (!hip)
		hip = cuda;
	if (hip)
		read_list(p, "amdgpu", hip, rocr ? &outer : NULL, &inner);
	if (rocr && hip && (!strncasecmp(hip, "GPU-", 4) || inner.n)) {
		apply(p, "amdgpu", "ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES", hip, &inner);
		return;
	}
	if (rocr)
		apply(p, "amdgpu", "ROCR_VISIBLE_DEVICES", rocr, hip ? &inner : &outer);
	else
		apply(p, "amdgpu", hip == cuda ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES",
			hip, &inner);
}

/* ZE_AFFINITY_MASK: "0,1.0": a device or one of its tiles, which shares the device's sensor. */
static void intel(struct pick *p)
{
	const char *mask = p->getenv_fn(p->arg, "ZE_AFFINITY_MASK"), *rest = mask;
	struct list l = {.out_of_range = -1};
	char token[TOKEN_MAX];

	if (!mask || !*mask) {
		all_of(p, "intelgpu");
		return;
	}
	while (next_token(&rest, token)) {
		int id;

		token[strcspn(token, ".")] = 0;
		id = index_of(token) >= 0 ? by_index(p->hw, "intelgpu", index_of(token)) : -1;
		if (id >= 0)
			list_add(&l, id);
	}
	apply(p, "intelgpu", "ZE_AFFINITY_MASK", mask, &l);
}

static void by_environment(struct pick *p)
{
	for (size_t i = 0; i < p->sel->n; i++)
		p->sel->on[i] = hw_device(p->hw, i)->kind != DEV_GPU;
	if (count_gpus(p->hw, "nvml") || p->getenv_fn(p->arg, "CUDA_VISIBLE_DEVICES"))
		nvidia(p);
	if (count_gpus(p->hw, "amdgpu"))
		amd(p);
	if (count_gpus(p->hw, "intelgpu"))
		intel(p);
	/* GPUs of a back end without rules of its own: all. */
	for (size_t i = 0; i < p->sel->n; i++)
		if (hw_device(p->hw, i)->kind == DEV_GPU && !is_gpu_of(p->hw, i, "nvml") &&
			!is_gpu_of(p->hw, i, "amdgpu") && !is_gpu_of(p->hw, i, "intelgpu"))
			p->sel->on[i] = true;
	if (!p->why.len)
		str_add(&p->why, "all devices of this machine");
}

/* ---- --devices ---- */

static bool kind_word(const char *word, enum dev_kind *kind)
{
	static const enum dev_kind kinds[] = {DEV_GPU, DEV_CPU, DEV_DRAM, DEV_NODE};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, dev_kind_name(kinds[i]))) {
			*kind = kinds[i];
			return true;
		}
	return false;
}

static enum status unknown_device(struct pick *p, const char *word, struct err *e)
{
	struct str have = STR_INIT;

	for (size_t i = 0; i < p->sel->n && have.len < 300; i++)
		str_addf(&have, "%s%s", i ? ", " : "", hw_device(p->hw, i)->key);
	err_set(e, ST_NOT_FOUND,
		"--devices: no device '%s'; write all, none, gpu, cpu, dram, node, an index or a "
		"key (%s)",
		word, have.len ? str_cstr(&have) : "this machine has no device");
	str_release(&have);
	return ST_NOT_FOUND;
}

/* An index counts the GPUs of the whole machine: of one vendor that is the vendor's order. */
static int gpu_by_index(const struct hw *hw, long index, bool *several)
{
	static const char *const vendors[] = {"nvml", "amdgpu", "intelgpu"};
	int found = -1;

	*several = false;
	for (size_t v = 0; v < 3; v++) {
		int id = by_index(hw, vendors[v], index);

		*several |= id >= 0 && found >= 0;
		if (id >= 0)
			found = id;
	}
	return found;
}

static enum status by_option(struct pick *p, const char *text, struct err *e)
{
	const char *rest = text;
	char token[TOKEN_MAX];
	enum dev_kind kind;

	while (next_token(&rest, token)) {
		long index = index_of(token);
		bool several = false;
		int id;

		if (!*token)
			return err_set(e, ST_INVALID, "--devices=%s has an empty entry", text);
		if (!strcmp(token, "none"))
			continue;
		if (!strcmp(token, "all") || kind_word(token, &kind)) {
			bool all = !strcmp(token, "all");

			for (size_t i = 0; i < p->sel->n; i++)
				p->sel->on[i] |= all || hw_device(p->hw, i)->kind == kind;
			continue;
		}
		id = index >= 0 ? gpu_by_index(p->hw, index, &several) : hw_find(p->hw, token);
		if (several)
			return err_set(e, ST_INVALID,
				"--devices: GPU %ld is one of each vendor; name it by its key",
				index);
		if (id < 0)
			return unknown_device(p, token, e);
		turn_on(p, (size_t)id);
	}
	say(&p->why, "--devices=%s", text);
	return ST_OK;
}

static const char *env_of_process(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

enum status select_devices(const struct hw *hw, const char *devices_opt,
	const char *(*getenv_fn)(void *arg, const char *name), void *arg, struct selection *out,
	struct err *e)
{
	struct pick p = {.hw = hw,
		.sel = out,
		.getenv_fn = getenv_fn ? getenv_fn : env_of_process,
		.arg = arg,
		.why = STR_INIT,
		.warning = STR_INIT};
	enum status st = ST_OK;

	*out = (struct selection){.n = hw_n_devices(hw)};
	out->on = mem_calloc(out->n ? out->n : 1, sizeof(*out->on));
	if (!out->on)
		return err_set(e, ST_NOMEM, "out of memory for the list of devices");
	if (devices_opt)
		st = by_option(&p, devices_opt, e);
	else
		by_environment(&p);
	snprintf(out->why, sizeof(out->why), "%s", str_cstr(&p.why));
	snprintf(out->warning, sizeof(out->warning), "%s", str_cstr(&p.warning));
	str_release(&p.why);
	str_release(&p.warning);
	if (st != ST_OK)
		selection_release(out);
	return st;
}

void selection_release(struct selection *s)
{
	mem_free(s->on);
	*s = (struct selection){0};
}
