/* job.h: the measured command as a process.
 *
 * Spawned as a shell would (same signal mask and dispositions, same foreground group unless it gets
 * its own), reaped without blocking, its end turned into the shell's code. Nothing runs in the
 * child between the spawn and its exec.
 */
#ifndef WATTLAW_EXEC_JOB_H
#define WATTLAW_EXEC_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/status.h"

/* A command text as words: blanks separate, '…' "…" and \ quote as in a shell. When something
 * unquoted needs a shell (| ; & < > $ ` * ? ( ) ~ # or VAR=…), the words are {"/bin/sh", "-c",
 * text}. */
struct words {
	char **v; /* NULL-terminated; owned */
	size_t n;
};
enum status words_split(const char *text, struct words *out, struct err *e);
bool words_add(struct words *w, const char *word);
/* Append copies of b's words. */
bool words_join(struct words *a, char *const *b, size_t n);
void words_release(struct words *w);

struct job {
	pid_t pid; /* 0 before it was spawned */
	int pidfd; /* -1 when there is none */
	bool group; /* it leads a process group of its own */
	bool ended;
	int64_t start_ns, end_ns; /* monotonic, around the child's life */
	int exit_code; /* as a shell gives it; -1 while it runs */
};

void job_init(struct job *j);
/* argv[0] is looked for in PATH. stdout_fd/stderr_fd -1 = inherited. mask is the signal mask the
 * child gets; defaults the signals put back to their default action. When the command cannot be
 * run, the job has ended with code 127 (not found) or 126 and e says why. */
enum status job_spawn(struct job *j, char *const *argv, char *const *envp, bool own_group,
	int stdout_fd, int stderr_fd, const sigset_t *mask, const sigset_t *defaults,
	struct err *e);
/* Has it ended? Reaps it when it has and stamps end_ns. */
bool job_reap(struct job *j);
/* Signal the job, or its group when it has one. */
void job_signal(const struct job *j, int sig);
void job_release(struct job *j);

/* Signal every process of this user whose environment says WATTLAW_RUN=run_id (ranks that mpirun
 * put into groups of their own). Returns how many there were; sig 0 only counts. The caller is
 * spared. */
size_t job_signal_run(const char *run_id, int sig);
/* Code a shell gives for a wait status. */
int job_code(int wait_status);

/* A copy of the environment with names replaced or removed (value NULL). Free with env_free. */
struct env_set {
	const char *name, *value;
};
char **env_make(char *const *base, const struct env_set *set, size_t n);
void env_free(char **env);

#endif
