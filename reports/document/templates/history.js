"use strict";
// The first charts are drawn at once, and other charts shortly before they come into view. Until
// then, a card shows only its caption.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const W = 400, H = 180, L = 58, R = 10, T = 14, B = 24, FAILED = H - B - 7;

const number = (v) => (typeof v === "string" ? Number(v.replace("nan", "NaN").replace("inf", "Infinity")) : v);
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const three = (v) => {
  if (!Number.isFinite(v)) return String(v);
  const decimals = v === 0 ? 0 : Math.max(0, 2 - Number(v.toExponential(2).split("e")[1]));
  return v.toFixed(Math.min(decimals, 12));
};
const scaled = (v, units) => {
  const [factor, name] = units.find(([f]) => Math.abs(v) >= f) || units[units.length - 1];
  return `${factor === 1 && Number.isInteger(v) ? v : three(v / factor)} ${name}`;
};
const WRITTEN = {
  seconds: (v) => scaled(v, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]),
  bytes: (v) => scaled(v, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]),
  relative: (v) => v.toExponential(1),
  count: (v) => (Math.abs(v) >= 1e6 ? v.toPrecision(6) : String(v)),
};
// If the ratio would round to one, an exact number shows its difference.
const changeOf = ({ unit, kind }, { before, after }) => {
  if (before === 0) return `+${WRITTEN[unit](after)}`;
  if (kind !== "exact" || Math.abs(after / before - 1) >= 0.005) return `${three(after / before)}×`;
  return `${after > before ? "+" : "−"}${WRITTEN[unit](Math.abs(after - before))}`;
};
// A commit with an injected regression is hash+name; the name is not shortened.
const short = (hash) => hash.replace(/^(\w{10})\w+/, "$1");
const dated = (date) => date.slice(0, 10);
const authored = (date) => `${date.slice(0, 16).replace("T", " ")} ${date.slice(19).replace("Z", "UTC")}`.trim();
const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;

// Commits at which no process of a case succeeded.
for (const environment of data.environments) {
  environment.failed = environment.failed.map(([name, at, count, reason]) => ({ case: environment.cases[name], at, count, reason: environment.reasons[reason] }));
}

// All series of each environment, with the names and numbers that the charts and the table show.
const all = data.environments.map((environment) => environment.series.map(([caseIndex, metric, at, values, samples, steps, threshold, lines]) => {
  const [name, title, unit, kind, meaning] = data.metrics[metric];
  return {
    environment, case: environment.cases[caseIndex], name, title, unit, kind, meaning, at: at || environment.at,
    values: values.map(number), samples, threshold, lines, failed: environment.failed.filter((failure) => failure.case === environment.cases[caseIndex]),
    steps: steps.map(([i, before, after, by, worse]) => ({ i, before: number(before), after: number(after), by, worse })),
  };
}));

// Return the points that the pointer and the keys can select: values (index i) and failures.
function stopsOf(series) {
  series.stops ??= [...series.at.map((at, i) => ({ at, i })), ...series.failed.map((failure) => ({ at: failure.at, failure }))]
    .sort((a, b) => a.at - b.at);
  return series.stops;
}

function reviewOf(series, step) {
  const [base, head] = [step.i - 1, step.i].map((i) => data.commits[series.at[i]][0]);
  const environment = data.environments.length > 1 ? ` --environment '${series.environment.name.replaceAll("'", "'\\''")}'` : "";
  return { href: series.environment.reviews[`${base} ${head}`], command: `python -m reports review ${base} ${head}${environment}` };
}
const FOUND_BY = { exact: "comparison", asv: "asv alone", "asv+ruptures": "asv and ruptures", ruptures: "ruptures alone: maybe" };
const tone = (step) => (step.by === "ruptures" ? "maybe" : step.worse ? "" : "better");

function scaleOf(series) {
  const points = series.values.concat(...(series.samples || [])).map(number).filter(Number.isFinite);
  let low = Math.min(...points), high = Math.max(...points);
  const log = series.kind === "error" && low > 0 && high / low > 20;
  const f = log ? Math.log10 : (v) => v;
  [low, high] = [f(low), f(high)];
  if (!log && low >= 0 && low < 0.6 * high) low = 0;
  const pad = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  const ends = [low === 0 ? 0 : low - pad, high + pad];
  const y = (v) => (Number.isFinite(v) ? H - B - ((f(v) - ends[0]) / (ends[1] - ends[0])) * (H - B - T) : T - 6);
  const x = (at) => L + ((at - series.environment.at[0]) / Math.max(1, series.environment.at.at(-1) - series.environment.at[0])) * (W - L - R);
  const ticks = [0, 0.5, 1].map((t) => ends[0] + pad * (low === 0 ? 0 : 1) + t * (high - low));
  return { x, y, ticks: [...new Set(high > low ? ticks : [high])].filter(Number.isFinite).map((t) => (log ? 10 ** t : t)) };
}

function drawing(series) {
  const { x, y, ticks } = scaleOf(series);
  const parts = ticks.map((t) => `<line class="grid" x1="${L}" x2="${W - R}" y1="${y(t).toFixed(1)}" y2="${y(t).toFixed(1)}"/>` +
    `<text x="${L - 6}" y="${(y(t) + 4).toFixed(1)}" text-anchor="end">${WRITTEN[series.unit](t)}</text>`);
  const at = series.values.map((v, i) => [x(series.at[i]).toFixed(1), y(v).toFixed(1)]);
  if (series.samples) {
    const range = series.samples.map((s, i) => {
      const v = s.map(number);
      return `M${at[i][0]} ${y(Math.min(...v)).toFixed(1)}V${y(Math.max(...v)).toFixed(1)}`;
    });
    parts.push(`<path class="range" d="${range.join("")}"/>`);
  }
  parts.push(`<path class="line" d="M${at.map((p) => p.join(" ")).join("L")}"/>`);
  parts.push(`<path class="dots" d="${at.map((p) => `M${p.join(" ")}h0`).join("")}"/>`);
  for (const step of series.steps) {
    const px = (x(series.at[step.i]) + x(series.at[step.i - 1])) / 2, up = step.worse;
    parts.push(`<line class="step ${tone(step)}" x1="${px.toFixed(1)}" x2="${px.toFixed(1)}" y1="${T - 8}" y2="${H - B}"/>` +
      `<path class="flag ${tone(step)}" d="M${px.toFixed(1)} ${up ? T - 12 : T - 2}l5 ${up ? 9 : -9}h-10z"/>`);
  }
  const crosses = series.failed.map((failure) => `M${(x(failure.at) - 4).toFixed(1)} ${FAILED - 4}l8 8m0 -8l-8 8`);
  if (crosses.length) parts.push(`<path class="failed" d="${crosses.join("")}"/>`);
  const named = [0, series.environment.at.length - 1].map((k) => data.commits[series.environment.at[k]]);
  parts.push(`<text x="${L}" y="${H - 7}">${escaped(dated(named[0][1]) || short(named[0][0]))}</text>`);
  parts.push(`<text x="${W - R}" y="${H - 7}" text-anchor="end">${escaped(dated(named[1][1]) || short(named[1][0]))}</text>`);
  parts.push('<circle class="here" r="6" cx="-20" cy="-20"/>');
  return `<svg viewBox="0 0 ${W} ${H}" aria-hidden="true">${parts.join("")}</svg>`;
}

function summary(series) {
  const written = WRITTEN[series.unit], last = series.values.at(-1);
  const lost = series.failed.length ? `, no process succeeded at ${counted(series.failed.length, "other commit")}` : "";
  return `${series.case}, ${series.title}: ${written(last)} at the newest of ${counted(series.values.length, "commit")}, ${counted(series.steps.length, "change point")}${lost}`;
}

function words(series, { at, i, failure }) {
  const [hash, date, subject] = data.commits[at], written = WRITTEN[series.unit];
  const lines = [failure ? '<b class="bad">no process succeeded</b>' : `<b>${written(series.values[i])}</b>`];
  lines.push(`<i>${escaped(short(hash))}${subject ? ` ${escaped(subject)}` : ""}</i>`);
  if (date) lines.push(`<i>authored ${escaped(authored(date))}</i>`);
  const samples = !failure && series.samples && series.samples[i].map(number);
  if (failure) lines.push(`${counted(failure.count, "process")}: ${escaped(failure.reason)}`);
  if (samples) lines.push(`${counted(samples.length, "process")}: ${samples.map(written).join(", ")}`);
  const step = series.steps.find((s) => s.i === i);
  if (step) {
    const { href, command } = reviewOf(series, step);
    lines.push(`<span class="${step.worse ? "bad" : "good"}">change from ${written(step.before)} to ${written(step.after)} (${changeOf(series, step)}), found by ${FOUND_BY[step.by]}</span>`);
    lines.push(href ? `<a href="${escaped(href)}">review of this commit</a>` : `<code>${escaped(command)}</code>`);
  }
  if (!failure && series.lines?.[i]) lines.push(escaped(series.lines[i]));
  lines.push(`<i>${escaped(series.environment.conditions[series.environment.at.indexOf(at)])}</i>`);
  return lines.join("<br>").replaceAll("</i><br>", "</i>");
}

function draw(card) {
  if (card.dataset.drawn) return;
  card.dataset.drawn = "yes";
  card.insertAdjacentHTML("beforeend", drawing(card.series));
}

function show(card, k) {
  draw(card);
  const series = card.series, { x, y } = scaleOf(series), here = card.querySelector(".here");
  const stops = stopsOf(series);
  card.at = Math.max(0, Math.min(stops.length - 1, k));
  const stop = stops[card.at];
  here.setAttribute("cx", x(stop.at));
  here.setAttribute("cy", stop.failure ? FAILED : y(series.values[stop.i]));
  let tip = card.querySelector(".tip");
  if (!tip) {
    card.insertAdjacentHTML("beforeend", '<div class="tip" role="status"></div>');
    tip = card.querySelector(".tip");
  }
  tip.innerHTML = words(series, stop);
}

function hide(card) {
  card.querySelector(".tip")?.remove();
  card.querySelector(".here")?.setAttribute("cx", -20);
}

function nearest(card, event) {
  const box = card.querySelector("svg").getBoundingClientRect(), { x } = scaleOf(card.series);
  const px = ((event.clientX - box.left) / box.width) * W;
  const away = stopsOf(card.series).map((stop) => Math.abs(x(stop.at) - px));
  return away.indexOf(Math.min(...away));
}

function key(card, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return; // shortcuts of the browser
  const stops = stopsOf(card.series), last = stops.length - 1, now = card.at ?? last;
  const steps = card.series.steps.map((step) => stops.findIndex((stop) => stop.i === step.i));
  const goals = {
    ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last,
    PageUp: steps.filter((k) => k < now).at(-1) ?? now, PageDown: steps.find((k) => k > now) ?? now,
  };
  if (event.key in goals) show(card, goals[event.key]);
  else if (event.key === "Escape") hide(card);
  else if (event.key === "Enter" && event.target === card) card.querySelector(".tip a")?.click();
  else return;
  event.preventDefault();
}

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { draw(entry.target); seen.unobserve(entry.target); }
}, { rootMargin: "600px" });

function newCard(series) {
  const card = document.createElement("figure");
  card.className = "chart";
  card.tabIndex = 0;
  // With this role, a screen reader passes the arrow keys to the chart.
  card.setAttribute("role", "application");
  card.setAttribute("aria-roledescription", "chart");
  card.setAttribute("aria-label", summary(series));
  card.series = series;
  card.innerHTML = `<figcaption title="${escaped(series.meaning)}">${escaped(series.title)}<span>${escaped(series.case)}${series.threshold ? `, threshold ${series.threshold}%` : ""}</span></figcaption>`;
  card.addEventListener("pointermove", (event) => {
    if (!event.target.closest(".tip") && card.querySelector("svg")) show(card, nearest(card, event));
  });
  card.addEventListener("pointerleave", () => { if (document.activeElement !== card) hide(card); });
  card.addEventListener("focus", () => show(card, card.at ?? stopsOf(series).length - 1));
  card.addEventListener("focusout", (event) => { if (!card.contains(event.relatedTarget)) hide(card); });
  card.addEventListener("keydown", (event) => key(card, event));
  return card;
}

function stepRow({ series, step }) {
  const { href, command } = reviewOf(series, step), written = WRITTEN[series.unit];
  const name = `<code>${escaped(short(data.commits[series.at[step.i]][0]))}</code>`;
  const link = href ? `<a href="${escaped(href)}">${name}</a>` : `<span title="${escaped(command)}">${name}</span>`;
  return `<tr>${commitHead(series.at[step.i], link)}` +
    `<td class="text">${caseName(series.case)}</td><td class="text">${escaped(series.title)}</td><td>${written(step.before)}</td><td>${written(step.after)}</td>` +
    `<td class="${step.worse ? "bad" : "good"}">${changeOf(series, step)}</td><td class="text">${FOUND_BY[step.by]}</td></tr>`;
}

const caseName = (text) => escaped(text).replaceAll("/", "/<wbr>");

function commitHead(at, name) {
  const [, date, subject] = data.commits[at];
  return `<th scope="row">${name}<small>${escaped([dated(date), subject].filter(Boolean).join(" "))}</small></th>`;
}

function failureRow({ case: name, at, count, reason }) {
  return `<tr>${commitHead(at, `<code>${escaped(short(data.commits[at][0]))}</code>`)}<td class="text">${caseName(name)}</td>` +
    `<td>${count}</td><td class="text">${escaped(reason)}</td></tr>`;
}

// Show the newest rows of a table. If rows are left out, a note gives the number of all rows.
function fill(name, noun, rows, position, written) {
  rows.sort((a, b) => position(b) - position(a));
  byId(`${name}-rows`).innerHTML = rows.slice(0, MOST_ROWS).map(written).join("");
  byId(`${name}-note`).textContent = rows.length > MOST_ROWS ? `Only the ${MOST_ROWS} newest of ${rows.length} ${noun} are shown; use the search to see others.` : "";
}

const cards = new Map();
const MOST_ROWS = 200;

function refresh() {
  const index = byId("environment").selectedIndex, chosen = all[index] || [];
  const asked = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (text) => asked.every((word) => text.toLowerCase().includes(word));
  const found = chosen.filter((s) => (!byId("kind").value || s.kind === byId("kind").value) &&
    (!byId("stepped").checked || s.steps.length) && matches(`${s.case} ${s.name} ${s.title}`));
  byId("shown").textContent = `${found.length} of ${chosen.length} series`;
  for (const series of found) if (!cards.has(series)) cards.set(series, newCard(series));
  const shown = found.map((series) => cards.get(series));
  byId("cards").replaceChildren(...shown);
  byId("no-cards").textContent = found.length ? "" : chosen.length ? "No series matches; clear the search, select all kinds, or also show series without a change point." :
    "No process succeeded in this environment.";
  shown.slice(0, 12).forEach(draw);
  shown.slice(12).forEach((card) => { if (!card.dataset.drawn) seen.observe(card); });
  const steps = found.flatMap((series) => series.steps.map((step) => ({ series, step })));
  fill("step", "change points", steps, ({ series, step }) => series.at[step.i], stepRow);
  if (!steps.length) byId("step-note").textContent = found.length ? "None of these series has a change point." : "No series matches.";
  const failed = data.environments[index].failed.filter((failure) => matches(`${failure.case} ${failure.reason}`));
  fill("failure", "rows", failed, (failure) => failure.at, failureRow);
  byId("failures").hidden = !failed.length;
}

for (const environment of data.environments) byId("environment").add(new Option(environment.name));
byId("controls").addEventListener("input", refresh);
byId("controls").addEventListener("submit", (event) => event.preventDefault());
refresh();
