/* ini.c: whatever is read can be written and reads back the same; every error has a place. */
#include "fuzz.h"

#include "base/ini.h"
#include "base/str.h"

static void write_text(struct str *s, const struct ini *ini)
{
	/* a key may begin with what would be a byte order mark at the beginning of the file */
	str_addc(s, '\n');
	for (size_t i = 0; i < ini->n; i++) {
		const struct ini_section *sec = &ini->sections[i];

		if (i)
			str_addf(s, "[%s%s%s]\n", sec->name, sec->arg[0] ? " " : "", sec->arg);
		for (size_t j = 0; j < sec->n; j++)
			str_addf(s, "%s = %s\n", sec->entries[j].key, sec->entries[j].value);
	}
}

static void same(const struct ini *a, const struct ini *b)
{
	must(a->n == b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct ini_section *x = &a->sections[i], *y = &b->sections[i];

		must(!strcmp(x->name, y->name) && !strcmp(x->arg, y->arg) && x->n == y->n);
		for (size_t j = 0; j < x->n; j++) {
			must(!strcmp(x->entries[j].key, y->entries[j].key));
			must(!strcmp(x->entries[j].value, y->entries[j].value));
		}
	}
}

static void lists(struct ini *ini)
{
	for (size_t i = 0; i < ini->n; i++)
		for (size_t j = 0; j < ini->sections[i].n; j++) {
			struct ini_entry *entry = &ini->sections[i].entries[j];
			struct err e = ERR_INIT;
			struct ini_list l;

			must(entry->line > 0 && entry->key_col > 0);
			must(entry->value_col > entry->key_col && entry->key[0]);
			if (ini_list(ini, entry, &l, &e)) {
				must(e.st == ST_INVALID && !strncmp(e.msg, "f:", 2));
				continue;
			}
			for (size_t k = 0; k < l.n; k++)
				must(l.items[k][0] && l.cols[k] >= entry->value_col);
			ini_list_release(&l);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const known[] = {"repeats", "command"};
	struct str text = STR_INIT;
	struct err e = ERR_INIT;
	struct ini ini, again;

	if (ini_read_text(&ini, "f", (const char *)data, size, &e)) {
		must(e.st == ST_INVALID && !strncmp(e.msg, "f:", 2) && ini.n == 0);
		return 0;
	}
	lists(&ini);
	ini_reject_unused(&ini, known, 2, &e);
	write_text(&text, &ini);
	must(ini_read_text(&again, "f", str_cstr(&text), text.len, &e) == ST_OK);
	same(&ini, &again);
	ini_release(&again);
	ini_release(&ini);
	str_release(&text);
	return 0;
}
