/* data_text.c: texts, vocabularies and labelled lines: every token is in the vocabulary, and
 * batches keep to their shapes. The first byte says what the rest is. */
#include "fuzz.h"

#include "data/data.h"
#include "data/text.h"

#define SEQ 8

static void a_vocabulary(const char *text, size_t size)
{
	struct fault f = {0};
	struct vocab *v = NULL;
	int32_t *token = NULL;
	int64_t n = 0;
	char buf[2];

	if (vocab_parse("f", text, size, &v, &f)) {
		must(f.set && !v);
		return;
	}
	must(!vocab_encode(v, text, size, &token, &n));
	for (int64_t i = 0; i < n; i++) {
		must(token[i] >= 0 && token[i] < vocab_size(v));
		must(vocab_text(v, token[i], buf));
	}
	free(token);
	vocab_free(v);
}

static void batches(struct data *d)
{
	struct batch b = {0};
	struct fault f = {0};
	const struct array *ids, *label;

	for (int64_t i = 0; i < d->info.n_train && i < 4; i++) {
		must(!d->ops->fill(d, &i, 1, 3, false, &b, &f));
		ids = batch_find(&b, "ids");
		label = batch_find(&b, "label");
		must(ids->dim[0] == 1 && ids->dim[1] == SEQ);
		for (int k = 0; k < SEQ; k++)
			must(((int32_t *)ids->data)[k] >= 0 &&
				((int32_t *)ids->data)[k] < d->info.vocab);
		must(((int32_t *)label->data)[0] <
			(d->spec.kind == DATA_SEQCLASS ? d->info.classes : d->info.vocab));
	}
	batch_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct data d = {.spec = {.path = "f", .seq = SEQ, .vocab_size = 64, .seed = 1}};
	struct fault f = {0};
	const char *text = (const char *)data + 1;

	if (size < 2)
		return 0;
	if (data[0] == 'v') {
		a_vocabulary(text, size - 1);
		return 0;
	}
	d.spec.kind = data[0] == 'l' ? DATA_SEQCLASS : data[0] == 'm' ? DATA_MLM : DATA_CLM;
	if (data_open_text_bytes(&d, text, size - 1, &f)) {
		must(f.set && !strncmp(f.msg, "f:", 2));
		return 0;
	}
	must(d.info.n_train >= 1 && d.info.vocab > 0);
	batches(&d);
	data_close(&d);
	return 0;
}
