-- What version 2 of the store has beyond version 1.

-- The hosts that runs were measured on. A row a change: a run has the latest row of its host that is not
-- younger than its start.
CREATE TABLE host (
	name TEXT NOT NULL, since_realtime_ns INTEGER NOT NULL,
	machine TEXT, cpu TEXT, n_cpus INTEGER, memory_bytes INTEGER, kernel TEXT,
	PRIMARY KEY (name, since_realtime_ns)) WITHOUT ROWID;

-- The laws that were last fitted to a campaign, in outside units (W, MHz, %, s, J).
CREATE TABLE law (
	id INTEGER PRIMARY KEY,
	campaign_id INTEGER REFERENCES campaign(id) ON DELETE CASCADE, -- NULL = all runs together
	workload TEXT NOT NULL, domain TEXT, "group" TEXT, at TEXT, at_baseline INTEGER NOT NULL,
	quantity TEXT NOT NULL, per TEXT NOT NULL, factor TEXT NOT NULL,
	family TEXT NOT NULL, formula TEXT, selected INTEGER NOT NULL, verdict TEXT,
	n INTEGER NOT NULL, n_runs INTEGER NOT NULL, x_min REAL, x_max REAL,
	r2_log REAL, mape_pct REAL, loo_pct REAL, sigma_log REAL, -- NULL = no estimate
	note TEXT, label TEXT NOT NULL, source TEXT, -- measured, simulated, imported
	version TEXT NOT NULL, fitted_realtime_ns INTEGER NOT NULL
);
CREATE INDEX law_campaign ON law(campaign_id, workload, quantity);
CREATE TABLE law_param (law INTEGER NOT NULL REFERENCES law(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL, name TEXT NOT NULL, value REAL,
	lo95 REAL, hi95 REAL,             -- NULL = no error estimate
	PRIMARY KEY (law, idx)) WITHOUT ROWID;
-- The lower triangle; no rows where there is no error estimate.
CREATE TABLE law_cov (law INTEGER NOT NULL REFERENCES law(id) ON DELETE CASCADE,
	i INTEGER NOT NULL, j INTEGER NOT NULL, value REAL NOT NULL,
	PRIMARY KEY (law, i, j)) WITHOUT ROWID;
