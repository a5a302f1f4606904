/* opt_help.c: the --help text, from the same table. */
#include "base/opt.h"

#include <string.h>

#define HELP_COL   30 /* where the explanations begin */
#define HELP_WIDTH 80

/* Words of text from column `col` on, wrapped; continuation lines begin at HELP_COL. */
static void add_wrapped(struct str *out, const char *text, size_t col)
{
	bool first = true;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (!first && col + 1 + n > HELP_WIDTH) {
			str_addf(out, "\n%*s", HELP_COL, "");
			col = HELP_COL;
			first = true;
		}
		if (!first) {
			str_addc(out, ' ');
			col++;
		}
		str_addn(out, text, n);
		col += n;
		first = false;
		text += n;
		text += strspn(text, " ");
	}
}

static bool on_by_default(const struct opt *o)
{
	return o->type == OPT_FLAG && o->def && (!strcmp(o->def, "true") || !strcmp(o->def, "yes"));
}

static const char *arg_name(const struct opt *o)
{
	if (o->arg)
		return o->arg;
	switch (o->type) {
	case OPT_INT:
		return "N";
	case OPT_UNIT:
		return unit_name(o->unit);
	case OPT_DOUBLE:
		return "X";
	case OPT_CHOICE:
		return "WORD";
	default:
		return "TEXT";
	}
}

static void add_choices(struct str *text, const struct opt *o)
{
	for (size_t i = 0; o->choices[i]; i++)
		str_addf(text, "%s%s", i ? ", " : ": ", o->choices[i]);
}

static void add_row(struct str *out, const struct opt *o)
{
	struct str left = STR_INIT, right = STR_INIT;

	if (o->short_name)
		str_addf(&left, "  -%c, ", o->short_name);
	else
		str_add(&left, "      ");
	str_addf(&left, "--%s%s", on_by_default(o) ? "no-" : "", o->name);
	if (o->type != OPT_FLAG)
		str_addf(&left, " %s", arg_name(o));
	str_add(&right, o->help ? o->help : "");
	if (o->type == OPT_CHOICE)
		add_choices(&right, o);
	if (o->def && *o->def && o->type != OPT_FLAG)
		str_addf(&right, " [%s]", o->def);
	if (o->flags & OPT_REQUIRED)
		str_add(&right, " (required)");
	str_add(out, str_cstr(&left));
	if (left.len + 2 > HELP_COL)
		str_addf(out, "\n%*s", HELP_COL, "");
	else
		str_addf(out, "%*s", (int)(HELP_COL - left.len), "");
	add_wrapped(out, str_cstr(&right), HELP_COL);
	str_addc(out, '\n');
	out->failed |= left.failed || right.failed;
	str_release(&left);
	str_release(&right);
}

void opt_help(struct str *out, const struct opt_help *h, const struct opt *table)
{
	const char *p = h->usage, *lead = "usage: ";

	for (;;) {
		size_t n = strcspn(p, "\n");

		str_add(out, lead);
		str_addn(out, p, n);
		str_addc(out, '\n');
		if (!p[n] || !p[n + 1])
			break;
		p += n + 1;
		lead = "       ";
	}
	str_addf(out, "\n%s\n", h->summary);
	if (table[0].type != OPT_GROUP)
		str_add(out, "\nOptions:\n");
	for (const struct opt *o = table; o->type != OPT_END; o++) {
		if (o->type == OPT_GROUP)
			str_addf(out, "\n%s:\n", o->help);
		else if (o->help)
			add_row(out, o);
	}
	str_addf(out, "  -h, --help%*sshow this text\n", HELP_COL - 12, "");
	if (h->more)
		str_addf(out, "\n%s\n", h->more);
}
