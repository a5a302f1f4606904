/* options.c: the table of options. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "models/model.h"
#include "options.h"

enum kind { K_FLAG, K_INT, K_DOUBLE, K_TEXT, K_CHOICE_TEXT, K_SIZE };

static const char *const precisions[] = {"f32", "bf16", NULL};
static const char *const backends[] = {"onednn", "reference", NULL};
static const char *const comms[] = {"auto", "none", "mpi", NULL};
static const char *const pins[] = {"auto", "none", NULL};

static const struct row {
	const char *name, *arg;
	enum kind kind;
	size_t at;
	double min, max;
	const char *const *choices;
	const char *help;
} rows[] = {
#define AT(member) offsetof(struct options, member)
	{"size", "SIZE", K_SIZE, AT(size), 0, 0, size_name, "tiny, small or base (default tiny)"},
	{"data", "PATH", K_TEXT, AT(data), 0, 0, NULL,
		"file or folder to train on, see below; default: generated"},
	{"vocab", "FILE", K_TEXT, AT(vocab), 0, 0, NULL,
		"vocabulary file, one word a line; or words, bytes"},
	{"task", "TASK", K_TEXT, AT(task), 0, 0, NULL, "another task of the network, see --list"},
	{"target", "NAME", K_TEXT, AT(target), 0, 0, NULL,
		"property of molecules; CIFAR-100: fine or coarse"},
	{"batch", "N", K_INT, AT(batch), 1, 1e7, NULL, "samples per rank and step"},
	{"global-batch", "N", K_INT, AT(global_batch), 1, 1e8, NULL,
		"samples per step over all ranks"},
	{"accumulate", "N", K_INT, AT(accumulate), 1, 1e4, NULL,
		"batches whose gradients make one step"},
	{"steps", "N", K_INT, AT(steps), 0, 1e12, NULL,
		"steps to train; 0: until SIGTERM (default 100)"},
	{"epochs", "N", K_INT, AT(epochs), 1, 1e9, NULL, "passes over the data instead of --steps"},
	{"optimizer", "NAME", K_CHOICE_TEXT, AT(optimizer), 0, 0, optim_name, "sgd, adam or adamw"},
	{"lr", "X", K_DOUBLE, AT(lr), 0, 1e6, NULL, "learning rate"},
	{"momentum", "X", K_DOUBLE, AT(momentum), 0, 1, NULL, "of sgd (default 0.9)"},
	{"weight-decay", "X", K_DOUBLE, AT(weight_decay), 0, 1e3, NULL,
		"not applied to biases and norms"},
	{"clip", "X", K_DOUBLE, AT(clip), 0, 1e9, NULL, "largest norm of the gradient; 0: none"},
	{"schedule", "NAME", K_CHOICE_TEXT, AT(schedule), 0, 0, schedule_name,
		"constant, linear or cosine, over --steps"},
	{"warmup", "N", K_INT, AT(warmup), 0, 1e9, NULL, "steps of rising learning rate"},
	{"dropout", "P", K_DOUBLE, AT(dropout), 0, 0.99, NULL, "instead of the network's"},
	{"seed", "N", K_INT, AT(seed), 0, 1e15, NULL, "of weights, data and dropout (default 1)"},
	{"threads", "N", K_INT, AT(threads), 1, 1024, NULL,
		"per rank (default: CPUs / ranks on this host)"},
	{"pin", "MODE", K_CHOICE_TEXT, AT(pin), 0, 0, pins,
		"auto: one CPU a thread; none: as started"},
	{"precision", "P", K_CHOICE_TEXT, AT(precision), 0, 0, precisions, "f32 or bf16"},
	{"backend", "NAME", K_CHOICE_TEXT, AT(backend), 0, 0, backends, "onednn or reference"},
	{"comm", "NAME", K_CHOICE_TEXT, AT(comm), 0, 0, comms, "auto, none or mpi"},
	{"sync-bn", NULL, K_FLAG, AT(sync_bn), 0, 0, NULL, "batch norm statistics over all ranks"},
	{"bucket", "KIB", K_INT, AT(bucket_kib), 1, 1e7, NULL,
		"gradients all-reduced at a time (default 4096)"},
	{"eval-every", "N", K_INT, AT(eval_every), 0, 1e12, NULL,
		"steps between evaluations; 0: none"},
	{"target-loss", "X", K_DOUBLE, AT(target_loss), -1e30, 1e30, NULL,
		"stop at this training loss"},
	{"checkpoint", "FILE", K_TEXT, AT(checkpoint), 0, 0, NULL, "written at the end"},
	{"checkpoint-every", "N", K_INT, AT(checkpoint_every), 0, 1e12, NULL, "and every N steps"},
	{"resume", "FILE", K_TEXT, AT(resume), 0, 0, NULL, "continue from a checkpoint"},
	{"sample", "N", K_INT, AT(sample), 0, 1e5, NULL,
		"gpt2: print N generated tokens at the end"},
	{"log-every", "N", K_INT, AT(log_every), 0, 1e12, NULL,
		"steps between progress lines; 0: none"},
	{"json", NULL, K_FLAG, AT(json), 0, 0, NULL, "the result, or --list, as JSON"},
	{"quiet", NULL, K_FLAG, AT(quiet), 0, 0, NULL, "no progress lines"},
	{"list", NULL, K_FLAG, AT(list), 0, 0, NULL, "networks with their sizes, then exit"},
	{"help", NULL, K_FLAG, AT(help), 0, 0, NULL, "this text"},
	{"version", NULL, K_FLAG, AT(version), 0, 0, NULL, "the version, then exit"},
#undef AT
};
#define N_ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* The words of text, at most 100 columns a line, each line but the first indented. */
static void print_words(int indent, const char *text)
{
	for (int column = indent; *text;) {
		int n = (int)strcspn(text, " "), columns = 0;

		for (int i = 0; i < n; i++)
			columns += (text[i] & 0xc0) != 0x80; /* UTF-8 */
		if (column > indent && column + 1 + columns > 100) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		printf("%s%.*s", column > indent ? " " : "", n, text);
		column += columns + (column > indent);
		text += n + (text[n] == ' ');
	}
	printf("\n");
}

static void print_formats(void)
{
	static const struct {
		const char *name;
		enum data_kind kind;
	} row[] = {{"images", DATA_IMAGE}, {"segmentation", DATA_SEGMENT}, {"text", DATA_MLM},
		{"molecules", DATA_MOLECULE}};

	printf("\nWhat --data may name:\n");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		printf("  %-14s", row[i].name);
		print_words(16, data_formats(row[i].kind));
	}
}

void options_help(void)
{
	printf("usage: wl-train NETWORK [options]\n\nTrains a network and tells wattlaw about "
	       "steps, "
	       "samples, phases and loss.\nNetworks:");
	for (int i = 0; models[i]; i++)
		printf(" %s", models[i]->name);
	printf("\n\n");
	for (int i = 0; i < N_ROWS; i++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s%s", rows[i].name, rows[i].arg ? " " : "",
			rows[i].arg ? rows[i].arg : "");
		printf("  %-22s %s\n", left, rows[i].help);
	}
	print_formats();
}

static int unknown_option(const char *name, struct fault *f)
{
	const char *names[N_ROWS], *near;

	for (int i = 0; i < N_ROWS; i++)
		names[i] = rows[i].name;
	near = fault_nearest(name, names, N_ROWS);
	if (near)
		return fault_set(f, "unknown option --%s (did you mean --%s?)", name, near);
	return fault_set(f, "unknown option --%s; see wl-train --help", name);
}

static int bad_choice(const struct row *r, const char *v, struct fault *f)
{
	char list[160] = "";
	int n = 0;
	const char *near;

	while (r->choices[n]) {
		size_t at = strlen(list);

		snprintf(list + at, sizeof(list) - at, "%s%s", n ? ", " : "", r->choices[n]);
		n++;
	}
	near = fault_nearest(v, r->choices, n);
	return fault_set(f, "--%s: '%s' is not one of %s%s%s%s", r->name, v, list,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int set_number(const struct row *r, const char *v, void *to, struct fault *f)
{
	char *end;
	double d;

	errno = 0;
	d = strtod(v, &end);
	if (end == v || *end || errno || !isfinite(d) || (r->kind == K_INT && d != floor(d)))
		return fault_set(f, "--%s: expected a %snumber, got '%s'", r->name,
			r->kind == K_INT ? "whole " : "", v);
	if (d < r->min || d > r->max)
		return fault_set(f, "--%s: %s is outside of %g to %g", r->name, v, r->min, r->max);
	if (r->kind == K_INT)
		*(int64_t *)to = (int64_t)d;
	else
		*(double *)to = d;
	return 0;
}

static int set_value(struct options *o, const struct row *r, const char *v, struct fault *f)
{
	void *to = (char *)o + r->at;

	switch (r->kind) {
	case K_FLAG:
		*(bool *)to = true;
		return 0;
	case K_TEXT:
		*(const char **)to = v;
		return 0;
	case K_CHOICE_TEXT:
	case K_SIZE:
		for (int i = 0; r->choices[i]; i++)
			if (!strcmp(r->choices[i], v)) {
				if (r->kind == K_SIZE)
					*(int *)to = i;
				else
					*(const char **)to = r->choices[i];
				return 0;
			}
		return bad_choice(r, v, f);
	case K_INT:
	case K_DOUBLE:
		return set_number(r, v, to, f);
	}
	return 0;
}

static int parse_long(struct options *o, int argc, char **argv, int *i, struct fault *f)
{
	const char *word = argv[*i] + 2, *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) : strlen(word);

	for (int k = 0; k < N_ROWS; k++) {
		const struct row *r = &rows[k];

		if (strlen(r->name) != len || strncmp(r->name, word, len) != 0)
			continue;
		if (r->kind == K_FLAG)
			return eq ? fault_set(f, "--%s takes no value", r->name)
				  : set_value(o, r, NULL, f);
		if (!eq && *i + 1 >= argc)
			return fault_set(f, "--%s needs a value: %s", r->name, r->arg);
		return set_value(o, r, eq ? eq + 1 : argv[++*i], f);
	}
	return unknown_option(word, f);
}

int options_parse(struct options *o, int argc, char **argv, struct fault *f)
{
	*o = (struct options){.steps = 100,
		.accumulate = 1,
		.seed = 1,
		.precision = "f32",
		.backend = "onednn",
		.comm = "auto",
		.pin = "auto",
		.momentum = 0.9,
		.log_every = 10,
		.bucket_kib = 4096,
		.lr = NAN,
		.weight_decay = NAN,
		.dropout = NAN,
		.target_loss = NAN};
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h")) {
			o->help = true;
		} else if (!strncmp(argv[i], "--", 2)) {
			if (parse_long(o, argc, argv, &i, f))
				return -1;
		} else if (argv[i][0] == '-') {
			return fault_set(f, "unknown option %s; see wl-train --help", argv[i]);
		} else if (o->network) {
			return fault_set(
				f, "one network at a time: '%s' after '%s'", argv[i], o->network);
		} else {
			o->network = argv[i];
		}
	}
	if (o->batch && o->global_batch)
		return fault_set(f, "--batch (per rank) and --global-batch exclude each other");
	return 0;
}
