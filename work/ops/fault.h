/* fault.h: how work/ reports an error: a call returns -1 (or NULL) and leaves one line for a
 * person.
 *
 * The first fault is kept, later ones do not overwrite it.
 */
#ifndef WORK_OPS_FAULT_H
#define WORK_OPS_FAULT_H

#include <stdbool.h>

struct fault {
	bool set;
	char msg[480];
};

/* Sets *f unless it is set already. Returns -1, so that `return fault_set(f, ...)` reads well. */
int fault_set(struct fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The entry of names[] nearest to word by edit distance, or NULL if none is near. For "did you
 * mean". */
const char *fault_nearest(const char *word, const char *const *names, int n);

#endif
