-- Derived quantities, each defined once, here. Units are in the names; NULL is unknown.

-- One row a run that can be used. What one unit of work is, how long it took and what it cost:
--   steady  samples (or steps) of the steady window of the job's marks
--   run     samples, epochs or the run itself over the whole wall time, start-up included
CREATE VIEW run_work AS
SELECT r.*,
	CASE WHEN window_ns > 0 AND window_samples > 0 THEN 'sample'
	     WHEN window_ns > 0 AND window_steps > 0 THEN 'step'
	     WHEN wall_ns > 0 AND samples > 0 THEN 'sample'
	     WHEN wall_ns > 0 AND epochs > 0 THEN 'epoch'
	     ELSE 'run' END AS work_unit,
	CASE WHEN window_ns > 0 AND (window_samples > 0 OR window_steps > 0) THEN 'steady'
	     ELSE 'run' END AS basis,
	CASE WHEN window_ns > 0 AND window_samples > 0 THEN window_samples
	     WHEN window_ns > 0 AND window_steps > 0 THEN window_steps
	     WHEN wall_ns > 0 AND samples > 0 THEN samples
	     WHEN wall_ns > 0 AND epochs > 0 THEN epochs
	     ELSE 1 END AS work,
	CASE WHEN window_ns > 0 AND (window_samples > 0 OR window_steps > 0) THEN window_ns
	     ELSE wall_ns END AS work_ns,
	-- Energy of the same work: that of the steady phase; else of the whole run, scaled by samples.
	CASE WHEN window_ns > 0 AND (window_samples > 0 OR window_steps > 0)
	     THEN COALESCE(
		(SELECT p.energy_uj FROM phase p WHERE p.run = r.id AND p.name = 'steady'),
		CASE WHEN window_samples > 0 AND samples > 0
		     THEN 1.0 * energy_uj * window_samples / samples
		     WHEN window_steps > 0 AND steps > 0
		     THEN 1.0 * energy_uj * window_steps / steps END)
	     ELSE energy_uj END AS work_uj
FROM run r
WHERE r.state IN ('done', 'partial');

CREATE VIEW run_figures AS
SELECT id, run_id, campaign_id, workload, domain, task, setting, block, repeat, "order", baseline,
	simulated, source, state, scope, method, energy_note,
	CASE WHEN simulated THEN 'simulated' WHEN source IS NOT NULL THEN 'imported'
	     ELSE 'measured' END AS label,
	work_unit, basis, work,
	work_ns / 1e9 / work AS time_per_work_s,
	work * 1e9 / work_ns AS work_per_s,
	work_uj / 1e6 / work AS energy_per_work_j,
	work * 1e6 / work_uj AS work_per_j,               -- = work per second per watt
	-- Energy over time; where no energy is known, what the counted devices say together.
	COALESCE(work_uj * 1e3 / work_ns, (SELECT sum(d.mean_mw) / 1e3 FROM run_device d
		WHERE d.run = run_work.id AND d.counted)) AS mean_w,
	(work_uj / 1e6 / work) * (work_ns / 1e9 / work) AS edp_js,
	(work_uj / 1e6 / work) * (work_ns / 1e9 / work) * (work_ns / 1e9 / work) AS ed2p_js2,
	energy_uj / 1e6 AS energy_j, net_uj / 1e6 AS net_j, wall_ns / 1e9 AS wall_s
FROM run_work;

-- The measured default setting of each block (worker count, batch, ...): what slowdown and saving are
-- relative to.
CREATE VIEW baseline AS
SELECT campaign_id, workload, block, work_unit, count(*) AS n,
	avg(time_per_work_s) AS time_per_work_s, avg(energy_per_work_j) AS energy_per_work_j
FROM run_figures WHERE baseline
GROUP BY campaign_id, workload, block, work_unit;

-- One row a setting, over its repeats.
CREATE VIEW setting_figures AS
SELECT f.campaign_id, f.workload, f.domain, f.setting, f.block, f.work_unit, f.label,
	-- The factors as numbers, the same in every run of the setting; NULL where it is the default.
	(SELECT number FROM run_axis WHERE run = f.id AND name = 'workers') AS workers,
	(SELECT number FROM run_axis WHERE run = f.id AND name = 'power_limit') AS power_limit_w,
	(SELECT number FROM run_axis WHERE run = f.id AND name = 'clock_max') AS clock_max_mhz,
	(SELECT number FROM run_axis WHERE run = f.id AND name = 'cpu_rate') AS cpu_rate_pct,
	max(f.baseline) AS baseline, count(*) AS n, min(f.run_id) AS run_id,
	avg(f.time_per_work_s) AS time_per_work_s,
	min(f.time_per_work_s) AS time_min_s, max(f.time_per_work_s) AS time_max_s,
	avg(f.energy_per_work_j) AS energy_per_work_j,
	avg(f.mean_w) AS mean_w, avg(f.work_per_s) AS work_per_s,
	avg(f.edp_js) AS edp_js,
	100 * (avg(f.time_per_work_s) / b.time_per_work_s - 1) AS slowdown_pct,
	100 * (1 - avg(f.energy_per_work_j) / b.energy_per_work_j) AS saving_pct
FROM run_figures f LEFT JOIN baseline b
	ON b.campaign_id IS f.campaign_id AND b.workload IS f.workload AND b.block = f.block
	AND b.work_unit = f.work_unit
GROUP BY f.campaign_id, f.workload, f.setting, f.work_unit, f.label;
