/* tools.h: what wl-train does besides training: the list of networks, and text from a language
 * model.
 */
#ifndef WORK_TOOLS_H
#define WORK_TOOLS_H

#include "trainer.h"

/* Prints every network at that size: domain, task, parameters, operations per sample, gradient
 * bytes. */
int tools_list(const struct options *o, struct fault *f);
/* Prints o->sample tokens drawn from the trained causal language model. */
int tools_sample(struct trainer *t, struct fault *f);

#endif
