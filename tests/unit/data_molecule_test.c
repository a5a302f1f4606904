/* Files of molecules: what each format says, and what is said of each way to be wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "data/molfile.h"
#include "tap.h"

static char dir[] = "/tmp/wattlaw-molecules-XXXXXX";

static const char *put(const char *name, const char *text)
{
	static char ring[4][256];
	static int next;
	char *path = ring[next++ % 4];
	FILE *f;

	snprintf(path, sizeof(ring[0]), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		printf("# cannot write %s\n", path);
	return path;
}

static int open_path(struct data *d, const char *path, const char *target, struct fault *f)
{
	struct data_spec s = {.kind = DATA_MOLECULE, .path = path, .cutoff = 5, .target = target};

	*f = (struct fault){0};
	return data_open(d, &s, f);
}

static void refuse(
	const char *name, const char *text, const char *target, const char *msg, const char *what)
{
	const char *path = put(name, text);
	struct fault f;
	struct data d;

	ok(open_path(&d, path, target, &f) < 0, "%s: %s is refused", name, what);
	has(f.msg, msg, "and the message helps");
	unlink(path);
}

/* Two waters of an SD file, the second with its atoms a little further apart. */
#define ATOM(x, y, z, e) "   " x "   " y "   " z " " e "   0  0  0  0\n"
#define WATER(x, fields)                                                                           \
	"water\n  by hand\n\n  3  2  0  0  0  0  0  0  0  0999 V2000\n" ATOM(" 0.0000", " 0.0000", \
		" 0.0000", "O") ATOM(x, " 0.0000", " 0.0000", "H") ATOM("-0.2399", " 0.9266",      \
		" 0.0000", "H") "  1  2  1  0\n  1  3  1  0\nM  END\n" fields "$$$$\n"
#define U0(v) "> <U0>\n" v "\n\n"

static void reads_sdf(void)
{
	const char *path = put("a.sdf", WATER(" 0.9572", U0("-76.4")) WATER(" 0.9700",
						"> 2 <name> (2)\nwater\n\n" U0("-76.1")));
	struct molecule m;
	struct fault f;
	struct data d;

	if (!ok(!open_path(&d, path, NULL, &f), "an SD file is read (%s)", f.msg))
		return;
	((struct molecule_source *)d.state)->get(d.state, 0, false, &m);
	is_int(d.info.n_train + d.info.n_eval, 2, "both molecules");
	is_int(m.n * 100 + m.z[0] * 10 + m.z[1], 381, "three atoms, oxygen, hydrogen");
	is_near(m.pos[1][0], 0.97, 1e-6, "x of an atom, by its columns");
	is_near(m.target, -76.1, 1e-4, "the only property is taken unasked");
	data_close(&d);
	ok(!open_path(&d, path, "U0", &f), "or by its name");
	data_close(&d);
	put("a.sdf.csv", "mol_id,A,u0\nwater,1,-5.5\nwater,2,-6.5\n");
	if (ok(!open_path(&d, path, NULL, &f), "the table beside the file is read (%s)", f.msg)) {
		((struct molecule_source *)d.state)->get(d.state, 0, false, &m);
		is_near(m.target, -6.5, 1e-6, "its u0 is the property");
		data_close(&d);
	}
	put("a.sdf.csv", "mol_id,A,u0\nwater,1,-5.5\n");
	ok(open_path(&d, put("a.sdf", WATER(" 0.9000", "") WATER(" 0.9000", "")), NULL, &f) < 0,
		"a table with a row too few is refused");
	has(f.msg, "a.sdf.csv: 1 rows, but", "and the message helps");
	put("a.sdf.csv", "mol_id,A\nwater,1\nwater,1\n");
	path = put("a.sdf", WATER(" 0.9000", ""));
	ok(open_path(&d, path, "gap", &f) < 0, "and one without the property");
	has(f.msg, "a.sdf.csv:1: no column 'gap'; there are: mol_id,A", "... names those it has");
	unlink(put("a.sdf.csv", ""));
	unlink(put("a.sdf", ""));
}

static void refuses_sdf(void)
{
	refuse("a.sdf", "t\n\n\n  0  0  0  0  0  0            999 V3000\n", NULL,
		"a.sdf:4: V3000 tables are not read; convert the file to V2000", "V3000");
	refuse("a.sdf", "t\n\n\n 99  0\n", NULL, ":4: expected a number of atoms from 1 to 64",
		"a molecule too large");
	refuse("a.sdf", "t\n\n", NULL, ":2: the file ends in a molecule's head", "a cut head");
	refuse("a.sdf", "t\n\n\nthree V2000\n", NULL, ":4: expected the numbers of atoms and bonds",
		"a counts line without counts");
	refuse("a.sdf", "t\n\n\n  2  0\n" ATOM(" 0.0000", " 0.0000", " 0.0000", "C"), NULL,
		":5: the file ends before the last atom", "a cut list of atoms");
	refuse("a.sdf", "t\n\n\n  1  0\n  0.0 0.0 0.0 C\n", NULL,
		":5: expected x, y and z in Angstrom", "atoms out of their columns");
	refuse("a.sdf", "t\n\n\n  1  0\n" ATOM(" 0.0000", " 0.0000", " 0.0000", "Q"), NULL,
		":5: expected an element's symbol in columns 32-34, got 'Q'", "an unknown element");
	refuse("a.sdf", "t\n\n\n  1  1\n" ATOM(" 0.0000", " 0.0000", " 0.0000", "C") "  1  2  1\n",
		NULL, ":6: expected a bond of two different atoms from 1 to 1",
		"a bond to nowhere");
	refuse("a.sdf", WATER(" 0.9572", "> <a>\n1\n\n> <b>\n2\n\n"), NULL,
		"which property? choose one with --target: a b", "a choice of properties");
	refuse("a.sdf", WATER(" 0.9572", U0("1")), "gap",
		"this molecule has no gap; its data fields are: U0", "an absent property");
	refuse("a.sdf", WATER(" 0.9572", U0("much")), "U0",
		":12: expected a number as the value of 'U0'", "a property that is no number");
	refuse("a.sdf", "t\n\n\n  1  0\n" ATOM(" 0.0000", " 0.0000", " 0.0000", "C") "M  END\n",
		NULL, ":6: the file ends before '$$$$': truncated", "a file without its end");
	refuse("a.sdf", WATER(" 0.0000", U0("1")), NULL,
		":1: atoms 1 and 2 of this molecule are at the same place", "two atoms in one");
}

#define WATER_JSON "{\"z\":[8,1,1],\"pos\":[[0,0,0],[0.9572,0,0],[-0.24,0.9266,0]],"

static void reads_json(void)
{
	const char *path = put("a.jsonl",
		WATER_JSON "\"target\":-76.4}\n\n{\"elements\":[\"O\",\"H\",\"H\"],"
			   "\"pos\":[[0,0,0],[0.97,0,0],[-0.24,0.93,0]],"
			   "\"edges\":[[0,1],[2,0]],\"targets\":{\"U0\":-76.1},\"id\":2}\n");
	struct batch b = {0};
	struct fault f;
	struct data d;
	int64_t index = 0;

	if (!ok(!open_path(&d, path, NULL, &f), "graphs in JSON Lines are read (%s)", f.msg))
		return;
	is_int(d.info.n_train + d.info.n_eval, 2, "an empty line is none");
	ok(!d.ops->fill(&d, &index, 1, 0, false, &b, &f), "a graph is made");
	is_int(((int32_t *)batch_find(&b, "dst")->data)[3], 2, "of the edges listed, both ways");
	is_int(((int32_t *)batch_find(&b, "dst")->data)[4], -1, "and no others");
	ok(!d.ops->fill(&d, &index, 1, 0, true, &b, &f) &&
			((int32_t *)batch_find(&b, "dst")->data)[5] == 2,
		"without a list all near atoms are joined");
	batch_release(&b);
	data_close(&d);
	unlink(path);
}

static void refuses_json(void)
{
	refuse("a.jsonl", "{\"z\":[8,1,1],\"po", NULL, "a.jsonl:1: not JSON:", "a cut line");
	refuse("a.jsonl", WATER_JSON "\"target\":1}\n[1]\n", NULL, ":2: expected an object",
		"something else");
	refuse("a.jsonl", "{\"pos\":[]}\n", NULL, ":1: expected \"z\"", "no atoms");
	refuse("a.jsonl", "{\"z\":[]}\n", NULL, ":1: 0 atoms; expected 1 to 64",
		"an empty molecule");
	refuse("a.jsonl", "{\"z\":[800]}\n", NULL, ":1: atom 0: expected an atomic number",
		"an atomic number that is none");
	refuse("a.jsonl", "{\"elements\":[\"Qq\"]}\n", NULL,
		":1: atom 0: expected an element's symbol", "an unknown element");
	refuse("a.jsonl", "{\"z\":[1,1],\"pos\":[[0,0,0]]}\n", NULL, ":1: 1 positions for 2 atoms",
		"a wrong shape");
	refuse("a.jsonl", "{\"z\":[1],\"pos\":[[0,0]]}\n", NULL,
		":1: pos[0]: expected three coordinates", "flat positions");
	refuse("a.jsonl", WATER_JSON "\"edges\":[[0,3]]}\n", NULL,
		":1: edges[0]: expected two different atoms from 0 to 2", "an edge to nowhere");
	refuse("a.jsonl", WATER_JSON "\"target\":\"x\"}\n", NULL,
		":1: the property is not a number", "a property that is no number");
	refuse("a.jsonl", WATER_JSON "\"targets\":{\"a\":1,\"b\":2}}\n", NULL,
		":1: 2 properties in \"targets\" (\"a\" …): choose with --target",
		"a choice of properties");
	refuse("a.jsonl", WATER_JSON "\"targets\":{\"a\":1}}\n", "b",
		":1: \"targets\" has no \"b\"", "an absent property");
	refuse("a.jsonl", WATER_JSON "\"target\":1}\n", NULL, "1 molecules; expected at least 2",
		"a single molecule");
}

#define GDB "gdb 1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"

static void reads_folders(void)
{
	struct fault f;
	struct data d;

	put("2.xyz", "1\n" GDB "C 0 0 0\n");
	put("1.xyz", "1\n" GDB "N 0 0 0\n1.5 2.5\nN N\nInChI\n");
	ok(!open_path(&d, dir, "gap", &f), "a folder of .xyz files is read (%s)", f.msg);
	is_int(d.info.n_train + d.info.n_eval, 2, "every file of it");
	is_str(d.info.unit, "Eh", "the gap is in Hartree");
	data_close(&d);
	put("3.xyz", "1\n" GDB "N 0 0 0\n\n1x\n" GDB);
	ok(open_path(&d, dir, NULL, &f) < 0, "a damaged count of atoms is not skipped");
	has(f.msg, "3.xyz:6: expected a number of atoms here", "and the file and line are named");
	for (int i = 1; i <= 3; i++)
		unlink(put(i == 1 ? "1.xyz" : i == 2 ? "2.xyz" : "3.xyz", ""));
	ok(open_path(&d, dir, NULL, &f) < 0, "an empty folder is refused");
	has(f.msg, "no .xyz file in this folder", "and it is said what was looked for");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	reads_sdf();
	refuses_sdf();
	reads_json();
	refuses_json();
	reads_folders();
	rmdir(dir);
	return tap_done();
}
