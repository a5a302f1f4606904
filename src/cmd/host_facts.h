/* host_facts.h: what this machine is, for the store: once a change, not once a run. */
#ifndef WATTLAW_CMD_HOST_FACTS_H
#define WATTLAW_CMD_HOST_FACTS_H

#include "store/store.h"

/* Machine, processor, memory and kernel of this host under that name. */
enum status host_facts_keep(struct store *s, const char *name, struct err *e);

#endif
