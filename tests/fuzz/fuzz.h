/* fuzz.h: what every fuzz target includes. A target is tests/fuzz/<name>.c with one
 * LLVMFuzzerTestOneInput; with -Dfuzz=true (clang) it becomes fuzz_<name>, and always
 * replay_<name>, which runs the corpus in tests/fuzz/corpus/<name>/ once.
 */
#ifndef WATTLAW_TESTS_FUZZ_H
#define WATTLAW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #cond);       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
