/* opt.c: each line of the input is one word of a command line. */
#include "fuzz.h"

#include "base/opt.h"

struct values {
	bool quiet;
	int64_t n, power_mw;
	double level;
	const char *text;
	int choice;
	struct opt_strings list, axes;
};

static const char *const choices[] = {"given", "random", NULL};

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.short_name = 'q',
		.name = "quiet",
		.offset = offsetof(struct values, quiet)},
	{.type = OPT_INT,
		.short_name = 'n',
		.name = "count",
		.offset = offsetof(struct values, n),
		.def = "3",
		.min = 1,
		.max = 9},
	{.type = OPT_UNIT,
		.short_name = 'p',
		.name = "power-limit",
		.unit = UNIT_POWER,
		.offset = offsetof(struct values, power_mw),
		.min = 1,
		.max = 1000000},
	{.type = OPT_DOUBLE, .name = "level", .offset = offsetof(struct values, level)},
	{.type = OPT_TEXT, .name = "db", .offset = offsetof(struct values, text)},
	{.type = OPT_CHOICE,
		.name = "order",
		.offset = offsetof(struct values, choice),
		.choices = choices},
	{.type = OPT_LIST,
		.short_name = 't',
		.name = "tag",
		.offset = offsetof(struct values, list)},
	{.type = OPT_PAIR2,
		.short_name = 'L',
		.name = "list",
		.offset = offsetof(struct values, axes)},
	{.type = OPT_PAIR2,
		.short_name = 'P',
		.name = "scan",
		.arg = "NAME MIN MAX",
		.offset = offsetof(struct values, axes)},
	{.type = OPT_END},
};

static char *words[64];

static int split(char *text)
{
	static char command[] = "cmd";
	int n = 0;

	words[n++] = command;
	for (char *p = text, *word; n < 63 && (word = strsep(&p, "\n"));)
		words[n++] = word;
	words[n] = NULL;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct opt_set *set = opt_set_new();
	struct values v = {.n = 1, .power_mw = 1};
	struct err e = ERR_INIT;
	int argc, operand = -1;
	char *text = malloc(size + 1);
	enum status st;

	if (!text || !set)
		abort();
	setenv("WATTLAW_CONFIG", "", 1);
	memcpy(text, data, size);
	text[size] = '\0';
	argc = split(text);
	st = opt_parse(set, table, "cmd", &v, argc, words, &operand, &e);
	if (st == ST_OK) {
		must(operand >= 1 && operand <= argc);
		must(v.n >= 1 && v.n <= 9 && v.power_mw >= 1 && v.power_mw <= 1000000);
		must(v.choice == 0 || v.choice == 1);
		for (size_t i = 0; i < v.axes.n; i++)
			must(v.axes.v[i]);
		for (size_t i = 0; i < v.list.n; i++)
			must(v.list.v[i]);
	} else if (st != ST_CANCELLED) {
		must(e.st == st && e.msg[0]);
	}
	opt_set_free(set);
	free(text);
	return 0;
}
