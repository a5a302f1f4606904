-- The store, version 1. Integers in base units (uJ, mW, kHz, ns, ppm, mdegC, bytes); NULL is unknown.
-- Columns that come from a record bear the name of its member (src/record/record.h).

CREATE TABLE campaign (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	plan TEXT,                        -- text of the sweep file
	options TEXT,
	source TEXT,                      -- NULL = made here
	seed INTEGER NOT NULL,
	created_realtime_ns INTEGER NOT NULL,
	simulated INTEGER NOT NULL,
	n_points INTEGER NOT NULL DEFAULT 0  -- planned
);

CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	run_id TEXT NOT NULL UNIQUE,
	campaign_id INTEGER REFERENCES campaign(id) ON DELETE CASCADE,
	setting TEXT NOT NULL,            -- "cpu_rate=80% workers=2"
	block TEXT NOT NULL,              -- the setting without knobs: one baseline each
	campaign TEXT, workload TEXT, domain TEXT, task TEXT, host TEXT,
	version TEXT, options TEXT, simulated INTEGER, source TEXT,
	repeat INTEGER, "order" INTEGER, launch TEXT, baseline INTEGER,
	state TEXT, exit_code INTEGER,
	start_realtime_ns INTEGER, start_mono_ns INTEGER, wall_ns INTEGER,
	method TEXT, energy_uj INTEGER, net_uj INTEGER, resolution_ppm INTEGER, coverage_ppm INTEGER,
	scope TEXT, energy_note TEXT, shared_node INTEGER,
	-- the training job, over its steady window
	n_ranks INTEGER, from_marks INTEGER, steps INTEGER, samples INTEGER, epochs INTEGER,
	window_ns INTEGER, window_steps INTEGER, window_samples INTEGER,
	step_p10_ns INTEGER, step_median_ns INTEGER, step_p90_ns INTEGER,
	step_mean_ns INTEGER, step_sd_ns INTEGER,
	batch_per_rank INTEGER, global_batch INTEGER, gradient_bytes INTEGER,
	has_loss INTEGER, loss_first REAL, loss_last REAL, steady INTEGER,
	hosts_expected INTEGER, hosts_seen INTEGER
);
CREATE INDEX run_point ON run(campaign_id, workload, setting, repeat);
CREATE INDEX run_block ON run(campaign_id, workload, block);

CREATE TABLE run_arg (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (run, idx)) WITHOUT ROWID;
CREATE TABLE run_warning (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (run, idx)) WITHOUT ROWID;

CREATE TABLE run_axis (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,
	name TEXT, text TEXT, unit TEXT, value INTEGER,
	number REAL,                      -- in the outside unit: W, MHz, %
	PRIMARY KEY (run, idx)) WITHOUT ROWID;

CREATE TABLE run_device (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,
	host TEXT, "key" TEXT, name TEXT, kind TEXT, parent TEXT, counted INTEGER,
	energy_uj INTEGER, energy_counter_uj INTEGER, energy_integral_uj INTEGER, net_uj INTEGER,
	idle_mw INTEGER, method TEXT, resolution_ppm INTEGER, coverage_ppm INTEGER,
	refresh_ns INTEGER, window_ns INTEGER,
	mean_mw INTEGER, p95_mw INTEGER, max_mw INTEGER,
	clock_khz INTEGER, mem_clock_khz INTEGER, util_ppm INTEGER, mem_util_ppm INTEGER,
	mem_used_max_bytes INTEGER,
	temp_start_mdegc INTEGER, temp_end_mdegc INTEGER, temp_max_mdegc INTEGER,
	throttle_power_cap_ppm INTEGER, throttle_thermal_ppm INTEGER, throttle_hw_ppm INTEGER,
	throttle_other_ppm INTEGER,
	st TEXT, note TEXT,
	PRIMARY KEY (run, idx)) WITHOUT ROWID;

CREATE TABLE run_knob (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	device INTEGER NOT NULL, idx INTEGER NOT NULL,
	name TEXT, unit TEXT, found INTEGER, requested INTEGER, enforced INTEGER,
	PRIMARY KEY (run, device, idx)) WITHOUT ROWID;

CREATE TABLE phase (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,
	name TEXT, start_ns INTEGER, end_ns INTEGER, energy_uj INTEGER, steps INTEGER, samples INTEGER,
	PRIMARY KEY (run, idx)) WITHOUT ROWID;

-- Why a quantity that is NULL above is missing, when the reason is known; a partial one keeps what is
-- known of it in value.
CREATE TABLE missing (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	part TEXT NOT NULL,               -- run, run_axis, run_device, run_knob, phase
	device INTEGER NOT NULL, idx INTEGER NOT NULL,
	name TEXT NOT NULL,               -- the column
	status TEXT NOT NULL, value INTEGER,
	PRIMARY KEY (run, part, device, idx, name)) WITHOUT ROWID;

CREATE TABLE channel (id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL,
	counter INTEGER NOT NULL);
CREATE TABLE sample (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	dev INTEGER NOT NULL, channel INTEGER NOT NULL, t_ns INTEGER NOT NULL,
	value INTEGER,
	st TEXT,                          -- NULL = ok
	PRIMARY KEY (run, dev, channel, t_ns)) WITHOUT ROWID;
CREATE TABLE mark (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
	idx INTEGER NOT NULL,
	rank INTEGER, kind INTEGER, t_ns INTEGER, value REAL, text TEXT,
	PRIMARY KEY (run, idx)) WITHOUT ROWID;
