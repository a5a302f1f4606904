/* dnn.c: every oneDNN call that differs between 2.x (operation descriptors, memory descriptors by
 * value) and 3.x (primitive descriptors at once, memory descriptors as handles). */
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ops/dnn.h"

#define V3 (DNNL_VERSION_MAJOR >= 3)

/* ---- memory descriptors ---- */

#if V3
struct md {
	dnnl_memory_desc_t h;
};

static void md_release(struct md *m)
{
	if (m->h)
		dnnl_memory_desc_destroy(m->h);
	m->h = NULL;
}

static bool md_tag(struct md *m, int nd, const int64_t *dims, dnnl_format_tag_t tag)
{
	dnnl_dims_t d = {0};

	memcpy(d, dims, (size_t)nd * sizeof(*dims));
	return !dnnl_memory_desc_create_with_tag(&m->h, nd, d, dnnl_f32, tag);
}

static bool md_query(struct md *m, const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	const_dnnl_memory_desc_t q = dnnl_primitive_desc_query_md(pd, what, 0);

	return q && !dnnl_memory_desc_clone(&m->h, q);
}

static bool md_copy(struct md *m, const struct md *from)
{
	return !dnnl_memory_desc_clone(&m->h, from->h);
}

static bool md_equal(const struct md *a, const struct md *b)
{
	return dnnl_memory_desc_equal(a->h, b->h);
}

static size_t md_size(const struct md *m)
{
	return m->h ? dnnl_memory_desc_get_size(m->h) : 0;
}

#define MD(m) ((m)->h)
#else
struct md {
	dnnl_memory_desc_t h;
};

static void md_release(struct md *m)
{
	memset(m, 0, sizeof(*m));
}

static bool md_tag(struct md *m, int nd, const int64_t *dims, dnnl_format_tag_t tag)
{
	dnnl_dims_t d = {0};

	memcpy(d, dims, (size_t)nd * sizeof(*dims));
	return !dnnl_memory_desc_init_by_tag(&m->h, nd, d, dnnl_f32, tag);
}

static bool md_query(struct md *m, const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	const dnnl_memory_desc_t *q = dnnl_primitive_desc_query_md(pd, what, 0);

	if (q)
		m->h = *q;
	return q != NULL;
}

static bool md_copy(struct md *m, const struct md *from)
{
	*m = *from;
	return true;
}

static bool md_equal(const struct md *a, const struct md *b)
{
	return dnnl_memory_desc_equal(&a->h, &b->h);
}

static size_t md_size(const struct md *m)
{
	return m->h.ndims ? dnnl_memory_desc_get_size(&m->h) : 0;
}

#define MD(m) (&(m)->h)
#endif

/* ---- engine ---- */

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_primitive_attr_t user_scratch;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
	if (dnnl_engine_create(&engine, dnnl_cpu, 0) ||
		dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) ||
		dnnl_primitive_attr_create(&user_scratch) ||
		dnnl_primitive_attr_set_scratchpad_mode(user_scratch, dnnl_scratchpad_mode_user))
		engine = NULL;
}

/* ---- one primitive with its memory objects ---- */

#define PRIM_ARGS 5

struct prim {
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t prim;
	dnnl_exec_arg_t arg[PRIM_ARGS];
	int n;
	struct md scratch;
};

static void prim_release(struct prim *p)
{
	for (int i = 0; i < p->n; i++)
		dnnl_memory_destroy(p->arg[i].memory);
	if (p->prim)
		dnnl_primitive_destroy(p->prim);
	if (p->pd)
		dnnl_primitive_desc_destroy(p->pd);
	md_release(&p->scratch);
	memset(p, 0, sizeof(*p));
}

static bool prim_arg(struct prim *p, int which, const struct md *m)
{
	dnnl_exec_arg_t *a = &p->arg[p->n];

	if (!md_size(m))
		return true;
	if (dnnl_memory_create(&a->memory, MD(m), engine, DNNL_MEMORY_NONE))
		return false;
	a->arg = which;
	p->n++;
	return true;
}

/* After p->pd is made: the primitive and its scratch. */
static bool prim_make(struct prim *p)
{
	if (dnnl_primitive_create(&p->prim, p->pd))
		return false;
	md_query(&p->scratch, p->pd, dnnl_query_scratchpad_md);
	return prim_arg(p, DNNL_ARG_SCRATCHPAD, &p->scratch);
}

static void prim_set(struct prim *p, int which, const void *data)
{
	for (int i = 0; i < p->n; i++)
		if (p->arg[i].arg == which)
			dnnl_memory_set_data_handle(p->arg[i].memory, (void *)(uintptr_t)data);
}

static void prim_run(struct prim *p, void *scratch)
{
	prim_set(p, DNNL_ARG_SCRATCHPAD, scratch);
	dnnl_primitive_execute(p->prim, stream, p->n, p->arg);
	dnnl_stream_wait(stream);
}

/* ---- reorders ---- */

static bool reorder_make(struct prim *p, const struct md *from, const struct md *to)
{
	if (dnnl_reorder_primitive_desc_create(
		    &p->pd, MD(from), engine, MD(to), engine, user_scratch))
		return false;
	return prim_make(p) && prim_arg(p, DNNL_ARG_FROM, from) && prim_arg(p, DNNL_ARG_TO, to);
}

static void reorder_run(struct prim *p, const void *from, void *to, void *scratch)
{
	prim_set(p, DNNL_ARG_FROM, from);
	prim_set(p, DNNL_ARG_TO, to);
	prim_run(p, scratch);
}

struct dnn_layout {
	struct md md, plain;
};

static struct dnn_layout *layout_new(const struct md *m, const int64_t *dims)
{
	struct dnn_layout *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (!md_copy(&l->md, m) || !md_tag(&l->plain, 4, dims, dnnl_oihw)) {
		dnn_layout_free(l);
		return NULL;
	}
	return l;
}

void dnn_layout_free(const struct dnn_layout *l)
{
	struct dnn_layout *own = (struct dnn_layout *)(uintptr_t)l;

	if (!own)
		return;
	md_release(&own->md);
	md_release(&own->plain);
	free(own);
}

size_t dnn_layout_count(const struct dnn_layout *l)
{
	return md_size(&l->md) / sizeof(float);
}

static void convert(const struct md *from, const struct md *to, const float *a, float *b)
{
	struct prim p = {0};
	void *scratch = NULL;

	if (reorder_make(&p, from, to) && !posix_memalign(&scratch, 64, md_size(&p.scratch) + 64))
		reorder_run(&p, a, b, scratch);
	free(scratch);
	prim_release(&p);
}

void dnn_pack(const struct dnn_layout *l, float *packed, const float *plain)
{
	memset(packed, 0, md_size(&l->md));
	convert(&l->plain, &l->md, plain, packed);
}

void dnn_unpack(const struct dnn_layout *l, const float *packed, float *plain)
{
	convert(&l->md, &l->plain, packed, plain);
}

/* ---- convolution ---- */

struct dnn_conv {
	struct dnn_conv_spec sp;
	struct md x, y, b, w; /* w: as the parameter is kept */
	struct md w_fwd, w_data, w_wgt; /* as the primitives take it */
	int64_t block_x, block_y;
	struct prim fwd, data, wgt;
	struct prim to_fwd, to_data, from_wgt; /* reorders where the layouts differ */
};

enum pass { PASS_FWD, PASS_DATA, PASS_WGT };

static bool conv_pd(struct prim *p, enum pass pass, const struct dnn_conv_spec *sp, bool train,
	const struct md *x, const struct md *w, const struct md *b, const struct md *y,
	dnnl_primitive_desc_t hint)
{
	dnnl_dims_t strides = {sp->stride, sp->stride}, dil = {0, 0};
	dnnl_dims_t left = {sp->pad_h, sp->pad_w};
	int64_t below = (sp->p - 1) * sp->stride + sp->r - sp->h - sp->pad_h;
	int64_t right_of = (sp->q - 1) * sp->stride + sp->s - sp->w - sp->pad_w;
	dnnl_dims_t right = {below > 0 ? below : 0, right_of > 0 ? right_of : 0};
	dnnl_prop_kind_t prop = train ? dnnl_forward_training : dnnl_forward_inference;
	dnnl_alg_kind_t alg = dnnl_convolution_direct;

#if V3
	switch (pass) {
	case PASS_FWD:
		return !dnnl_convolution_forward_primitive_desc_create(&p->pd, engine, prop, alg,
			MD(x), MD(w), b ? MD(b) : NULL, MD(y), strides, dil, left, right,
			user_scratch);
	case PASS_DATA:
		return !dnnl_convolution_backward_data_primitive_desc_create(&p->pd, engine, alg,
			MD(x), MD(w), MD(y), strides, dil, left, right, hint, user_scratch);
	case PASS_WGT:
		return !dnnl_convolution_backward_weights_primitive_desc_create(&p->pd, engine, alg,
			MD(x), MD(w), NULL, MD(y), strides, dil, left, right, hint, user_scratch);
	}
	return false;
#else
	dnnl_convolution_desc_t d;
	dnnl_status_t st = dnnl_invalid_arguments;

	switch (pass) {
	case PASS_FWD:
		st = dnnl_dilated_convolution_forward_desc_init(&d, prop, alg, MD(x), MD(w),
			b ? MD(b) : NULL, MD(y), strides, dil, left, right);
		break;
	case PASS_DATA:
		st = dnnl_dilated_convolution_backward_data_desc_init(
			&d, alg, MD(x), MD(w), MD(y), strides, dil, left, right);
		break;
	case PASS_WGT:
		st = dnnl_dilated_convolution_backward_weights_desc_init(
			&d, alg, MD(x), MD(w), NULL, MD(y), strides, dil, left, right);
		break;
	}
	return !st && !dnnl_primitive_desc_create(&p->pd, &d, user_scratch, engine, hint);
#endif
}

/* The block of an image layout; 0 if it is none of ours. */
static int64_t block_of(const struct md *m, const int64_t *dims)
{
	static const struct {
		dnnl_format_tag_t tag;
		int64_t block;
	} known[] = {{dnnl_nChw16c, 16}, {dnnl_nChw8c, 8}, {dnnl_nchw, 1}, {dnnl_nhwc, 0}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct md k = {0};
		bool same = md_tag(&k, 4, dims, known[i].tag) && md_equal(&k, m);

		md_release(&k);
		if (same)
			return known[i].block ? known[i].block : dims[1];
	}
	return 0;
}

/* What the forward pass would like for x and y; row-major if the wish is none of the known layouts.
 */
static bool choose_images(struct dnn_conv *c, const struct md *w)
{
	const struct dnn_conv_spec *sp = &c->sp;
	int64_t xd[] = {sp->n, sp->c, sp->h, sp->w}, yd[] = {sp->n, sp->k, sp->p, sp->q};
	struct md x = {0}, y = {0};
	struct prim p = {0};
	bool good = md_tag(&x, 4, xd, dnnl_format_tag_any) &&
		    md_tag(&y, 4, yd, dnnl_format_tag_any) &&
		    conv_pd(&p, PASS_FWD, sp, true, &x, w, sp->bias ? &c->b : NULL, &y, NULL) &&
		    md_query(&c->x, p.pd, dnnl_query_src_md) &&
		    md_query(&c->y, p.pd, dnnl_query_dst_md);

	if (good) {
		c->block_x = block_of(&c->x, xd);
		c->block_y = block_of(&c->y, yd);
	}
	prim_release(&p);
	md_release(&x);
	md_release(&y);
	return good;
}

static bool plain_image(struct md *m, int64_t *block, const int64_t *dims)
{
	md_release(m);
	*block = 1;
	return md_tag(m, 4, dims, dnnl_nchw);
}

/* Layouts and the forward primitive. plain: row-major images. */
static bool forward(struct dnn_conv *c, bool plain)
{
	const struct dnn_conv_spec *sp = &c->sp;
	int64_t xd[] = {sp->n, sp->c, sp->h, sp->w}, yd[] = {sp->n, sp->k, sp->p, sp->q};
	int64_t wd[] = {sp->k, sp->c, sp->r, sp->s};
	struct md w = {0};
	bool good = md_tag(&w, 4, wd, dnnl_format_tag_any) &&
		    (!sp->bias || md_tag(&c->b, 1, &sp->k, dnnl_x)) &&
		    (plain || choose_images(c, &w));

	if (good && !c->block_x)
		good = plain_image(&c->x, &c->block_x, xd);
	if (good && !c->block_y)
		good = plain_image(&c->y, &c->block_y, yd);
	good = good &&
	       conv_pd(&c->fwd, PASS_FWD, sp, true, &c->x, &w, sp->bias ? &c->b : NULL, &c->y,
		       NULL) &&
	       md_query(&c->w_fwd, c->fwd.pd, dnnl_query_weights_md) && prim_make(&c->fwd) &&
	       prim_arg(&c->fwd, DNNL_ARG_SRC, &c->x) &&
	       prim_arg(&c->fwd, DNNL_ARG_WEIGHTS, &c->w_fwd) &&
	       prim_arg(&c->fwd, DNNL_ARG_BIAS, &c->b) && prim_arg(&c->fwd, DNNL_ARG_DST, &c->y);
	md_release(&w);
	return good;
}

static bool backward(struct dnn_conv *c)
{
	const struct dnn_conv_spec *sp = &c->sp;
	int64_t wd[] = {sp->k, sp->c, sp->r, sp->s};
	struct md w = {0};
	bool good = md_tag(&w, 4, wd, dnnl_format_tag_any);

	if (good && sp->data)
		good = conv_pd(&c->data, PASS_DATA, sp, true, &c->x, &w, NULL, &c->y, c->fwd.pd) &&
		       md_query(&c->w_data, c->data.pd, dnnl_query_weights_md) &&
		       prim_make(&c->data) && prim_arg(&c->data, DNNL_ARG_DIFF_SRC, &c->x) &&
		       prim_arg(&c->data, DNNL_ARG_WEIGHTS, &c->w_data) &&
		       prim_arg(&c->data, DNNL_ARG_DIFF_DST, &c->y) &&
		       (md_equal(&c->w_data, &c->w) ||
			       reorder_make(&c->to_data, &c->w, &c->w_data));
	if (good && sp->weights)
		good = conv_pd(&c->wgt, PASS_WGT, sp, true, &c->x, &w, NULL, &c->y, c->fwd.pd) &&
		       md_query(&c->w_wgt, c->wgt.pd, dnnl_query_diff_weights_md) &&
		       prim_make(&c->wgt) && prim_arg(&c->wgt, DNNL_ARG_SRC, &c->x) &&
		       prim_arg(&c->wgt, DNNL_ARG_DIFF_WEIGHTS, &c->w_wgt) &&
		       prim_arg(&c->wgt, DNNL_ARG_DIFF_DST, &c->y) &&
		       (md_equal(&c->w_wgt, &c->w) || reorder_make(&c->from_wgt, &c->w_wgt, &c->w));
	md_release(&w);
	return good;
}

static bool is_reference(const struct prim *p)
{
	const char *name = NULL;

	return p->pd &&
	       !dnnl_primitive_desc_query(p->pd, dnnl_query_impl_info_str, 0, (void *)&name) &&
	       name && !strncmp(name, "ref", 3);
}

static struct dnn_conv *conv_try(
	const struct dnn_conv_spec *sp, const struct dnn_layout *w, bool plain)
{
	struct dnn_conv *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sp = *sp;
	if (forward(c, plain) && md_copy(&c->w, w ? &w->md : &c->w_fwd) &&
		(md_equal(&c->w, &c->w_fwd) || reorder_make(&c->to_fwd, &c->w, &c->w_fwd)) &&
		backward(c))
		return c;
	dnn_conv_free(c);
	return NULL;
}

/* Some backward passes exist in the blocked layout only as the library's reference, a hundred times
 * slower (few channels, small images): then row-major, where it has one by matrix products. */
struct dnn_conv *dnn_conv_new(
	const struct dnn_conv_spec *sp, const struct dnn_layout *w, struct fault *f)
{
	struct dnn_conv *c, *other;

	pthread_once(&once, start);
	if (!engine) {
		fault_set(f, "oneDNN could not be started");
		return NULL;
	}
	c = conv_try(sp, w, false);
	if (c && (is_reference(&c->fwd) || is_reference(&c->data) || is_reference(&c->wgt))) {
		other = conv_try(sp, w, true);
		if (other) {
			dnn_conv_free(c);
			c = other;
		}
	}
	if (!c)
		fault_set(f,
			"oneDNN has no convolution for (%lld,%lld,%lld,%lld) with %lld kernels of "
			"%dx%d",
			(long long)sp->n, (long long)sp->c, (long long)sp->h, (long long)sp->w,
			(long long)sp->k, sp->r, sp->s);
	return c;
}

void dnn_conv_free(struct dnn_conv *c)
{
	if (!c)
		return;
	prim_release(&c->fwd);
	prim_release(&c->data);
	prim_release(&c->wgt);
	prim_release(&c->to_fwd);
	prim_release(&c->to_data);
	prim_release(&c->from_wgt);
	md_release(&c->x);
	md_release(&c->y);
	md_release(&c->b);
	md_release(&c->w);
	md_release(&c->w_fwd);
	md_release(&c->w_data);
	md_release(&c->w_wgt);
	free(c);
}

int64_t dnn_conv_block_x(const struct dnn_conv *c)
{
	return c->block_x;
}

int64_t dnn_conv_block_y(const struct dnn_conv *c)
{
	return c->block_y;
}

struct dnn_layout *dnn_conv_layout(const struct dnn_conv *c)
{
	return layout_new(&c->w, (const int64_t[]){c->sp.k, c->sp.c, c->sp.r, c->sp.s});
}

static size_t rounded(size_t n)
{
	return (n + 63) / 64 * 64;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Scratch holds the library's, then one copy of the weights in another layout, then a second one to
 * add. */
static size_t library_scratch(const struct dnn_conv *c)
{
	const struct prim *p[] = {
		&c->fwd, &c->data, &c->wgt, &c->to_fwd, &c->to_data, &c->from_wgt};
	size_t n = 0;

	for (int i = 0; i < 6; i++)
		n = larger(n, md_size(&p[i]->scratch));
	return rounded(n);
}

static size_t weight_room(const struct dnn_conv *c)
{
	return rounded(larger(larger(md_size(&c->w_fwd), md_size(&c->w_data)),
		larger(md_size(&c->w_wgt), md_size(&c->w))));
}

size_t dnn_conv_scratch(const struct dnn_conv *c)
{
	return library_scratch(c) + weight_room(c);
}

void dnn_conv_forward(
	struct dnn_conv *c, const float *x, const float *w, const float *b, float *y, void *scratch)
{
	float *copy = (float *)((char *)scratch + library_scratch(c));

	if (c->to_fwd.prim) {
		reorder_run(&c->to_fwd, w, copy, scratch);
		w = copy;
	}
	prim_set(&c->fwd, DNNL_ARG_SRC, x);
	prim_set(&c->fwd, DNNL_ARG_WEIGHTS, w);
	if (c->sp.bias)
		prim_set(&c->fwd, DNNL_ARG_BIAS, b);
	prim_set(&c->fwd, DNNL_ARG_DST, y);
	prim_run(&c->fwd, scratch);
}

void dnn_conv_backward_data(
	struct dnn_conv *c, const float *dy, const float *w, float *dx, void *scratch)
{
	float *copy = (float *)((char *)scratch + library_scratch(c));

	if (c->to_data.prim) {
		reorder_run(&c->to_data, w, copy, scratch);
		w = copy;
	}
	prim_set(&c->data, DNNL_ARG_DIFF_DST, dy);
	prim_set(&c->data, DNNL_ARG_WEIGHTS, w);
	prim_set(&c->data, DNNL_ARG_DIFF_SRC, dx);
	prim_run(&c->data, scratch);
}

void dnn_conv_backward_weights(
	struct dnn_conv *c, const float *x, const float *dy, float *dw, void *scratch)
{
	float *copy = (float *)((char *)scratch + library_scratch(c));
	bool moved = c->from_wgt.prim != NULL;

	prim_set(&c->wgt, DNNL_ARG_SRC, x);
	prim_set(&c->wgt, DNNL_ARG_DIFF_DST, dy);
	prim_set(&c->wgt, DNNL_ARG_DIFF_WEIGHTS, moved ? copy : dw);
	prim_run(&c->wgt, scratch);
	if (moved)
		reorder_run(&c->from_wgt, copy, dw, scratch);
}

void dnn_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

const char *dnn_version(char *buf, size_t len)
{
	const dnnl_version_t *v = dnnl_version();

	snprintf(buf, len, "%d.%d.%d", v->major, v->minor, v->patch);
	return buf;
}
