/* page.js: the report, from the document in #data. Offline: nothing is fetched. */
"use strict";
(function () {
	const doc = JSON.parse(document.getElementById("data").textContent);
	const page = document.getElementById("page");
	const charts = [];
	const QUANTITY = {
		time: { title: "Time", unit: "s" },
		energy: { title: "Energy", unit: "J" },
		power: { title: "Mean power", unit: "W" },
	};
	const FACTOR = {
		workers: "workers", power_limit: "power limit", clock_max: "clock limit", cpu_rate: "CPU rate",
	};

	/* el("div", {class: "x"}, child, "text"): text never becomes markup. */
	function el(tag, attrs, ...children) {
		const e = document.createElement(tag);

		for (const k in attrs || {})
			e.setAttribute(k, attrs[k]);
		for (const c of children)
			if (c !== null && c !== undefined)
				e.append(c);
		return e;
	}

	const known = (v) => v !== null && v !== undefined && isFinite(v);

	/* 3 significant digits with an SI prefix: 1.23 ms, 45.6 kJ */
	function si(v, unit) {
		const steps = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

		if (!known(v))
			return "–";
		if (v === 0)
			return "0 " + unit;
		for (const [size, name] of steps)
			if (Math.abs(v) >= size * 0.9995 && !(unit === "s" && size > 1))
				return digits(v / size, 3) + " " + name + unit;
		return v.toExponential(2) + " " + unit;
	}

	function digits(v, n) {
		const before = Math.floor(Math.log10(Math.abs(v) || 1)) + 1;
		const s = v.toFixed(Math.max(0, Math.min(8, n - before)));

		return before > 4 ? Number(s).toLocaleString("en") : s;
	}

	/* "30.0 kJ" → "30 kJ", for ticks */
	const trim = (text) => text.replace(/(\.\d*?)0+(?=\s|$)/, "$1").replace(/\.(?=\s|$)/, "");
	const natural = (a, b) => a.localeCompare(b, "en", { numeric: true });
	/* "gpu=V100 power_limit=200W" without what the whole group shares */
	const without = (setting, where) => setting.split(" ").filter((w) => !where.split(" ").includes(w)).join(" ") || setting;

	const percent = (v, sign) => known(v) ? (sign && v > 0 ? "+" : "") + v.toFixed(Math.abs(v) < 9.95 ? 1 : 0) + " %" : "–";

	function factorText(s, x) {
		return trim(digits(x, 4)) + (s.unit ? " " + s.unit : "");
	}

	function badge(label) {
		return el("span", { class: "badge " + label }, label);
	}

	function table(head, rows, leftColumns) {
		const t = el("table"), h = el("tr");

		head.forEach((x, i) => h.append(el("th", i < leftColumns ? { class: "t", scope: "col" } : { scope: "col" }, x)));
		t.append(el("thead", null, h));
		const body = el("tbody");
		for (const r of rows) {
			const tr = el("tr", r.base ? { class: "base" } : null);

			r.cells.forEach((x, i) => tr.append(el("td",
				{ class: (i < leftColumns ? "t" : "") + (x === "–" ? " none" : "") }, x)));
			body.append(tr);
		}
		t.append(body);
		return el("div", { class: "scroll" }, t);
	}

	/* ---- charts ---- */

	const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const color = (i) => css("--c" + i % 8);

	function alpha(hex, a) {
		const n = parseInt(hex.slice(1), 16);

		return `rgba(${n >> 16}, ${n >> 8 & 255}, ${n & 255}, ${a})`;
	}

	/* Ticks a reader can use on a logarithmic axis: even steps within a decade, else 1-2-5. */
	function niceTicks(lo, hi) {
		const out = [];

		if (hi / lo < 8) {
			const raw = (hi - lo) / 5, p = Math.pow(10, Math.floor(Math.log10(raw)));
			const step = [1, 2, 2.5, 5, 10].map((m) => m * p).find((s) => s >= raw);

			for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi * (1 + 1e-9); k++)
				out.push(k * step);
			return out;
		}
		const wide = hi / lo > 1e3 ? [1] : [1, 2, 5];

		for (let d = Math.floor(Math.log10(lo)); d <= Math.ceil(Math.log10(hi)); d++)
			for (const m of wide)
				if (m * Math.pow(10, d) >= lo && m * Math.pow(10, d) <= hi)
					out.push(m * Math.pow(10, d));
		return out;
	}

	/* Ticks where there are measurements, thinned so that labels do not touch. */
	function dataTicks(xs) {
		const out = [], span = Math.log(xs[xs.length - 1] / xs[0]) || 1;

		for (const x of xs)
			if (!out.length || Math.log(x / out[out.length - 1]) > span * 0.07)
				out.push(x);
		return out;
	}

	function datasets(list) {
		const sets = [];

		list.forEach((s, i) => {
			const c = color(i);

			if (s.curve.some((p) => known(p[2]))) {
				const band = { type: "line", pointRadius: 0, borderWidth: 0, borderColor: "transparent", order: 3 };

				sets.push({ ...band, role: "band", data: s.curve.map((p) => ({ x: p[0], y: p[2] })), fill: false });
				sets.push({ ...band, role: "band", data: s.curve.map((p) => ({ x: p[0], y: p[3] })), fill: "-1",
					backgroundColor: alpha(c, list.length > 2 ? 0.10 : 0.17) });
			}
			sets.push({ type: "line", role: "law", data: s.curve.map((p) => ({ x: p[0], y: p[1] })), borderColor: c,
				borderWidth: 2, pointRadius: 0, order: 2 });
			if (s.power && list.length <= 2)
				sets.push({ type: "line", role: "power", borderColor: alpha(c, 0.75), borderWidth: 1.25, borderDash: [5, 4],
					pointRadius: 0, order: 2,
					data: s.curve.map((p) => ({ x: p[0], y: s.power.a * Math.pow(p[0], s.power.b) })) });
			sets.push({ type: "scatter", role: "points", series: s, data: s.points.map((p) => ({ x: p[0], y: p[1] })),
				backgroundColor: alpha(c, 0.75), borderColor: css("--card"), borderWidth: 1, pointRadius: 4.5,
				pointHoverRadius: 6, order: 1 });
		});
		return sets;
	}

	function draw(canvas, list) {
		const q = QUANTITY[list[0].quantity], s0 = list[0];
		const xs = [...new Set(list.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
		const ys = list.flatMap((s) => s.points.map((p) => p[1])
			.concat(s.curve.map((p) => p[1]), s.curve.flatMap((p) => [p[2], p[3]]))).filter((y) => known(y) && y > 0);
		const lo = Math.min(...ys), hi = Math.max(...ys), pad = Math.pow(hi / lo, 0.06) * 1.01;
		const ink = css("--soft"), grid = css("--grid");
		const axis = { type: "logarithmic", grid: { color: grid, borderColor: grid, drawTicks: false },
			ticks: { color: ink, autoSkip: false, maxRotation: 0, padding: 6, font: { size: 12 } } };
		const xpad = Math.pow(xs[xs.length - 1] / xs[0], 0.04);

		return new Chart(canvas, {
			data: { datasets: datasets(list) },
			options: {
				animation: false, responsive: true, maintainAspectRatio: false,
				interaction: { mode: "nearest", intersect: false, axis: "xy" },
				plugins: {
					legend: { display: false },
					tooltip: {
						filter: (t) => t.dataset.role === "points",
						callbacks: {
							title: () => "",
							label: (t) => factorText(s0, t.parsed.x) + ": " + si(t.parsed.y, q.unit) +
								(t.dataset.series.at ? "  (" + t.dataset.series.at + ")" : ""),
						},
					},
				},
				scales: {
					x: { ...axis, min: xs[0] / xpad, max: xs[xs.length - 1] * xpad,
						title: { display: true, text: FACTOR[s0.factor] + (s0.unit ? " (" + s0.unit + ")" : ""), color: ink },
						afterBuildTicks: (a) => { a.ticks = dataTicks(xs).map((value) => ({ value })); },
						ticks: { ...axis.ticks, callback: (v) => trim(digits(v, 4)) } },
					y: { ...axis, min: lo / pad, max: hi * pad,
						afterBuildTicks: (a) => { a.ticks = niceTicks(lo / pad, hi * pad).map((value) => ({ value })); },
						ticks: { ...axis.ticks, callback: (v) => trim(si(v, q.unit)) } },
				},
			},
		});
	}

	/* Charts are drawn when they come near the window, at once when printed. */
	const watcher = "IntersectionObserver" in window ? new IntersectionObserver((entries) => {
		for (const e of entries)
			if (e.isIntersecting)
				e.target.drawNow();
	}, { rootMargin: "1500px" }) : null;

	/* At most five curves a plot: the one at the default and others spread evenly. */
	function some(list) {
		const most = 5, sorted = list.sort((a, b) => natural(a.at, b.at));

		if (sorted.length <= most)
			return sorted;
		const keep = new Set([sorted.findIndex((s) => s.at_baseline)]);
		for (let i = 0; keep.size < most && i < most; i++)
			keep.add(Math.round(i * (sorted.length - 1) / (most - 1)));
		return sorted.filter((s, i) => keep.has(i));
	}

	function chart(group, list) {
		const q = QUANTITY[list[0].quantity], s0 = list[0];
		const what = q.title + (s0.quantity === "power" ? "" : " per " + group.per) + " against " + FACTOR[s0.factor];
		const canvas = el("canvas", { role: "img", "aria-label": what });
		const legend = el("div", { class: "legend" });
		const plot = el("div", { class: "plot" }, canvas);

		list.forEach((s, i) => {
			if (list.length > 1 || s.at)
				legend.append(el("span", null, el("i", { style: `background: var(--c${i % 8})` }), s.at || "all runs"));
		});
		plot.drawNow = () => {
			if (plot.chart)
				return;
			plot.chart = draw(canvas, list);
			canvas.setAttribute("data-drawn", plot.chart.data.datasets.filter((d) => d.role === "points").length);
			page.setAttribute("data-drawn", page.querySelectorAll("canvas[data-drawn]").length);
		};
		plot.redraw = () => {
			if (plot.chart)
				plot.chart.destroy();
			plot.chart = null;
			plot.drawNow();
		};
		charts.push(plot);
		return el("div", { class: "chart" }, el("div", { class: "row" }, el("h3", null, what), badge(group.label)), legend, plot);
	}

	/* ---- sections ---- */

	function exponents(group) {
		const order = Object.keys(QUANTITY);
		const rows = [...group.series].sort((a, b) => order.indexOf(a.quantity) - order.indexOf(b.quantity) ||
			natural(a.factor + a.at, b.factor + b.at)).map((s) => {
			const p = s.power;
			let b = "–";

			if (p)
				b = p.b.toFixed(2) + (p.ci ? ` [${p.ci[0].toFixed(2)}, ${p.ci[1].toFixed(2)}]` : "  (no error estimate)");
			return { cells: [QUANTITY[s.quantity].title, FACTOR[s.factor], s.at || "–", b,
				p && known(p.r2) && s.n > 2 ? p.r2.toFixed(3) : "–", percent(p && p.loo), percent(p && p.mape), String(s.n),
				s.verdict === "insensitive" ? "insensitive" : s.verdict === "undetermined" ? "undetermined" :
					s.best && known(s.best.loo) ? s.best.family + " (" + percent(s.best.loo) + ")" : "–"] };
		});

		const shown = rows.length > 24 ? el("details", null, el("summary", null, "All " + rows.length + " laws")) : el("div");

		shown.append(table(["Quantity", "Factor", "At", "Exponent b [95 %]", "R²", "LOO", "MAPE", "n", "Best family (LOO)"], rows, 3));
		return shown;
	}

	function settings(group) {
		const energy = group.settings.some((s) => known(s.energy_j));
		const power = group.settings.some((s) => known(s.mean_w));
		const slow = group.settings.some((s) => known(s.slowdown_pct));
		const repeats = group.settings.some((s) => s.n > 1);
		const head = ["Setting", "Runs", "Time per " + group.per];
		const per = group.per === "run" || group.per === "epoch" ? null : group.per + "s/s";

		if (repeats)
			head.push("Spread");
		if (per)
			head.push(per[0].toUpperCase() + per.slice(1));
		if (slow)
			head.push("Slowdown");
		if (power)
			head.push("Mean power");
		if (energy)
			head.push("Energy per " + group.per, "Saving", "EDP");
		const rows = [...group.settings].sort((a, b) => natural(a.setting, b.setting)).map((s) => {
			const cells = [without(s.setting, group.where) + (s.baseline ? "  (default)" : ""), String(s.n), si(s.time_s, "s")];

			if (repeats)
				cells.push(s.n > 1 ? "±" + percent(50 * (s.time_max_s - s.time_min_s) / s.time_s) : "–");
			if (per)
				cells.push(known(s.work_per_s) ? digits(s.work_per_s, 4) : "–");
			if (slow)
				cells.push(percent(s.slowdown_pct, true));
			if (power)
				cells.push(si(s.mean_w, "W"));
			if (energy)
				cells.push(si(s.energy_j, "J"), percent(s.saving_pct, true), si(s.edp_js, "J·s"));
			return { cells, base: s.baseline };
		});
		return el("details", group.settings.length <= 16 ? { open: "" } : null,
			el("summary", null, "All " + group.settings.length + " settings"), table(head, rows, 1));
	}

	function groupSection(group, alone, noted) {
		const box = el("div"), by = new Map(), grid = el("div", { class: "charts" });

		if (group.where)
			box.append(el("div", { class: "row", style: "margin-top:14px" }, el("h3", null, group.where), alone ? null : badge(group.label)));
		for (const s of group.series) {
			const key = s.factor + " " + s.quantity;

			if (!s.curve.length)
				continue;
			if (!by.has(key))
				by.set(key, []);
			by.get(key).push(s);
		}
		for (const q of ["time", "energy", "power"])
			for (const list of by.values())
				if (list[0].quantity === q)
					grid.append(chart(group, some(list)));
		if (grid.children.length)
			box.append(grid);
		if (!group.n_energy && !noted)
			box.append(el("p", { class: "note" }, "Energy is unknown: " + (group.energy_note || "it was not measured") + "."));
		else if (group.n_energy && group.n_energy < group.n)
			box.append(el("p", { class: "note" }, "Energy is known for " + group.n_energy + " of " + group.n + " runs" +
				(group.energy_note ? "; of the others: " + group.energy_note : "") + "."));
		if (group.series.length)
			box.append(exponents(group));
		else
			box.append(el("p", { class: "note" }, "No factor takes two values here: no law was fitted."));
		box.append(settings(group));
		return box;
	}

	function workloadSection(w, id, noted) {
		const labels = [...new Set(w.groups.map((g) => g.label))];
		const head = el("div", { class: "row" }, el("h2", null, w.name || "(no name)"), ...labels.map(badge));
		const runs = w.groups.reduce((n, g) => n + g.n, 0);
		const sources = [...new Set(w.groups.map((g) => g.source).filter((s) => s))];

		return el("section", { class: "card", id }, head,
			el("p", { class: "soft" }, [w.domain, runs + " runs", ...sources].filter((x) => x).join(" · ")),
			...w.groups.map((g) => groupSection(g, w.groups.length === 1, noted)));
	}

	function tiles(part) {
		const all = part.workloads.flatMap((w) => w.groups);
		const settingsCount = all.reduce((n, g) => n + g.settings.length, 0);
		const energy = all.some((g) => g.n_energy), c = part.campaign;
		const list = [[String(part.runs), "usable runs" + (c.failed ? ", " + c.failed + " not usable" : "")],
			[String(part.workloads.length), part.workloads.length === 1 ? "workload" : "workloads"],
			[String(settingsCount), "settings"],
			[energy ? "known" : "unknown", "energy"],
			[part.host || "–", "measured on"]];

		if (all.every((g) => g.label !== "measured"))
			list.pop();
		return el("div", { class: "tiles" }, ...list.map(([a, b]) => el("div", { class: "tile" }, el("b", null, a), el("span", null, b))));
	}

	function method(part) {
		const dl = el("dl");

		for (const [k, v] of part.method) {
			dl.append(el("dt", null, k), el("dd", null, v));
		}
		const box = el("section", { class: "card" }, el("h2", null, "How it was measured"), dl);

		if (part.warnings.length) {
			const ul = el("ul");

			part.warnings.forEach((w) => ul.append(el("li", null, w)));
			box.append(el("h3", null, "Notes of the runs"), ul);
		}
		if (part.campaign.plan)
			box.append(el("details", null, el("summary", null, "Sweep file"), el("pre", null, part.campaign.plan)));
		return box;
	}

	function reading() {
		return el("details", { class: "card" }, el("summary", null, "How to read this"),
			el("p", null, "Points are runs. The solid line is the combination of the families that predict left-out points " +
				"best; the band is its 90 % interval for a new run. The dashed line is the plain power law y = a·xᵇ, whose " +
				"exponent b is in the table: b = −1 means that twice as much of the factor halves the time. Both axes " +
				"are logarithmic, so a power law is a straight line."),
			el("p", null, "LOO is the leave-one-out error: each setting inside the range is predicted from the others. MAPE " +
				"is the mean error of the power law at the settings it was fitted to. Slowdown and saving are relative to the " +
				"measured default setting, in bold."));
	}

	const labelsOf = (part) => [...new Set(part.workloads.flatMap((w) => w.groups.map((g) => g.label)))];

	/* One campaign. */
	function partSection(part, k) {
		const id = (i) => "w" + k + "-" + i;
		const heading = doc.parts.length > 1 ? "h2" : "h1";

		page.append(el("div", { class: "row part" }, el(heading, null, part.campaign.name), ...labelsOf(part).map(badge)),
			el("p", { class: "soft" }, part.campaign.made));
		if (labelsOf(part).includes("simulated"))
			page.append(el("p", { class: "note" }, "Figures marked simulated come from a model of the device, not from a device."));
		page.append(tiles(part));
		/* One reason for all is said once. */
		const groups = part.workloads.flatMap((w) => w.groups);
		const noted = groups.length > 1 && groups.every((g) => !g.n_energy && g.energy_note === groups[0].energy_note);

		if (noted)
			page.append(el("p", { class: "note" }, "Energy is unknown: " + (groups[0].energy_note || "it was not measured") + "."));
		if (part.workloads.length > 1)
			page.append(el("nav", null, ...part.workloads.map((w, i) => el("a", { href: "#" + id(i) }, w.name || "(no name)"))));
		part.workloads.forEach((w, i) => page.append(workloadSection(w, id(i), noted)));
		page.append(method(part));
	}

	document.title = doc.parts.map((p) => p.campaign.name).join(", ") + " – wattlaw report";
	page.replaceChildren();
	if (doc.parts.length > 1)
		page.append(el("h1", null, "What the jobs cost, and the laws behind it"));
	doc.parts.forEach(partSection);
	page.append(reading(), el("footer", null, "Made by wattlaw " + doc.version + ", " + doc.made + ". This page is whole: it loads nothing."));
	page.setAttribute("data-charts", charts.length);
	charts.forEach((c) => charts.length <= 24 || !watcher ? c.drawNow() : watcher.observe(c));
	window.addEventListener("beforeprint", () => charts.forEach((c) => c.drawNow()));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
		charts.forEach((c) => c.chart && c.redraw()));
}());
