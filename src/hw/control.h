/* control.h: the only way a knob is ever set.
 *
 * A lease is the right to set the knobs of some devices. Taking one saves every value about to
 * change and writes it to a journal (fsynced) before the first set; setting reads back what the
 * hardware enforces; releasing restores in a safe order and goes on after a failure. What is put
 * back is what was found, and only where the device still holds what we set: if somebody else
 * changed it meanwhile it is left alone and reported. The journal lets another process
 * (control_replay) finish the job of one that died.
 *
 * A device has one lease holder. A second asker gets ST_BUSY with the holder's pid, command and
 * start.
 */
#ifndef WATTLAW_HW_CONTROL_H
#define WATTLAW_HW_CONTROL_H

#include "base/str.h"
#include "hw/hw.h"

enum lease_end {
	LEASE_FD, /* ends when the holder's connection closes */
	LEASE_PID, /* ends when the process (pid and start time) is gone */
	LEASE_JOB /* ends with the batch job: --apply, prolog */
};

struct lease_req {
	const size_t *devices; /* hw ids */
	size_t n_devices;
	unsigned knobs; /* bits of enum knob that may be set under this lease */
	enum lease_end end;
	int64_t pid; /* LEASE_PID: whose life it hangs on (0 = the caller) */
	const char *job; /* LEASE_JOB: the job's id */
	const char *holder; /* text for the second asker: "wattlaw sweep first-sweep" */
};

struct control; /* one per process that sets knobs; owns locks and journal */
struct lease;

/* A knob that cannot be read back (an NVML clock lock) is taken to be unset when a lease is taken;
 * a site whose machines carry a standing lock says so here (configuration), and that is what is put
 * back. */
enum status control_assume(struct control *c, size_t device, enum knob k, const struct knob_val *v);

/* dir: where locks and journals live (root: /run/wattlaw; otherwise <db>.d or XDG_RUNTIME_DIR). It
 * is made if missing (0700). */
enum status control_open(struct hw *hw, const char *dir, struct control **out, struct err *e);
/* Releases every lease it still holds, except job leases and those on another process's life: these
 * stay in the journal until control_end_job or control_replay. */
void control_close(struct control *c);

enum status lease_take(
	struct control *c, const struct lease_req *req, struct lease **out, struct err *e);

/* The result of a set: what was asked, what the device says now. A knob that cannot be read back
 * gives ST_OK with enforced.from = KV_REMEMBERED: the store's "enforced" is then unknown and the
 * achieved mean clock is the evidence. */
struct knob_set_result {
	struct knob_val found, requested, enforced;
	enum status st; /* ST_OK enforced as asked; ST_PARTIAL enforced differently; else refused */
	char note[160];
};
enum status lease_set(struct lease *l, size_t device, enum knob k, const struct knob_val *v,
	struct knob_set_result *res, struct err *e);
/* Put one knob back to what was found, keeping the lease. */
enum status lease_reset(
	struct lease *l, size_t device, enum knob k, struct knob_set_result *res, struct err *e);

/* Set the knob to the value that was found, which changes nothing, to learn before a campaign
 * whether this process is allowed to: ST_NO_PERMISSION and the like. */
enum status lease_try(struct lease *l, size_t device, enum knob k, struct err *e);
/* What was found when the lease was taken. ST_UNSUPPORTED: it cannot be read; *out is then what is
 * assumed (from is KV_RESET or KV_REMEMBERED). */
enum status lease_found(const struct lease *l, size_t device, enum knob k, struct knob_val *out);

struct restore_report {
	size_t restored, left_alone, failed;
	struct str text; /* a line for each knob, for people */
};
void restore_report_release(struct restore_report *r);
/* Restore and give the devices back. rep may be NULL. */
enum status lease_release(struct lease *l, struct restore_report *rep, struct err *e);

/* Replay the journals of holders that are dead (all: of everybody, for `wattlaw restore --all`).
 * Idempotent. Journals that cannot be finished stay and are reported. */
enum status control_replay(
	struct hw *hw, const char *dir, bool all, struct restore_report *rep, struct err *e);

/* End the job lease of a batch job (epilog, `wattlaw restore --job ID`). ST_NOT_FOUND when it has
 * none. */
enum status control_end_job(
	struct hw *hw, const char *dir, const char *job, struct restore_report *rep, struct err *e);

/* The default directory for this user, into buf: WATTLAW_RUN_DIR if set, /run/wattlaw for root,
 * else XDG_RUNTIME_DIR/wattlaw, else /tmp/wattlaw-UID, else db_dir (may be NULL). It is per host
 * and not per database, so that two sweeps with different databases see each other's leases. Not
 * made here. */
enum status control_dir(const char *db_dir, char *buf, size_t size, struct err *e);

#endif
