"""The HTML template of the page that shows a program's compiles: style, sections and script."""

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; --ink: #1c2024; --quiet: #5f6872; --line: #d9dde2;
  --card: #f4f6f8; --page: #fff; --trace: #3b82c4; --lower: #2a9d8f; --compile: #e07a3f;
  --hit: #6aa84f; --life: #e3e7ec; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ec; --quiet: #9aa4af;
  --line: #363c43; --card: #20252a; --page: #15181b; --life: #2b3138; }} }}
* {{ box-sizing: border-box; }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 80rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }}
h1 {{ font-size: 1.3rem; line-height: 1.35; margin: .3rem 0; }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem; }}
p, li, td, figcaption {{ max-width: 60rem; }}
.quiet, figcaption, .axis, i {{ color: var(--quiet); font-style: normal; font-size: .87em; }}
code {{ font: .87em/1.5 ui-monospace, monospace; }} .library {{ color: var(--quiet); }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(8.4rem, 1fr));
  gap: .5rem; margin: 1rem 0; }}
.numbers div {{ background: var(--card); border-radius: 6px; padding: .5rem .7rem;
  font-size: .87em; color: var(--quiet); }}
.numbers b {{ display: block; font-size: 1.25rem; color: var(--ink); }}
table {{ border-collapse: collapse; width: 100%; font-size: .92em; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .5rem;
  border-bottom: 1px solid var(--line); }}
th {{ font-weight: 600; overflow-wrap: normal; }}
data, [data-name=time], [data-name=id] summary, [data-name=from], [data-name=to],
[data-name=end] {{ white-space: nowrap; }}
[data-name=cause] {{ min-width: 12rem; }} [data-name="persistent cache"] {{ min-width: 13.5rem; }}
[data-name=line], [data-name=kind] {{ min-width: 7rem; }}
[data-name=id] details[open] {{ min-width: 22rem; }} #compiles th {{ cursor: pointer; }}
figure {{ margin: .5rem 0 1rem; }} svg {{ display: block; width: 100%; height: 30px; }}
.axis {{ display: flex; justify-content: space-between; }}
.trace {{ fill: var(--trace); }} .lower {{ fill: var(--lower); }}
.compile {{ fill: var(--compile); }} .hit {{ fill: var(--hit); }} .life {{ fill: var(--life); }}
.key span::before {{ content: ""; display: inline-block; width: .8em; height: .8em;
  margin: 0 .3em 0 .9em; background: currentColor; }}
.tree details {{ border-left: 2px solid var(--line); padding-left: .7rem; margin: .25rem 0; }}
.lines {{ display: block; padding-left: 1rem; }} summary {{ cursor: pointer; }}
ul {{ padding-left: 1.2rem; margin: .3rem 0; }}
@media (max-width: 44rem) {{
  thead {{ display: none; }} tr {{ display: block; border-bottom: 1px solid var(--line);
    padding: .4rem 0; }}
  td {{ display: block; border: 0; padding: .1rem 0; }} td:empty {{ display: none; }}
  td[data-name]::before {{ content: attr(data-name) ": "; color: var(--quiet); }} }}
</style></head><body>
<p class="quiet"><code>{command}</code><br>started {started}</p>
<h1>{headline}.</h1>
<div class="numbers">{numbers}</div>
<ul>{notes}</ul>
<h2>Avoidable time</h2>
<p class="quiet">The row about the persistent cache shows the compile time that later runs can save.
In the other rows, each compile is counted at most once. The time of a compile is the sum of
tracing, lowering and compiling, without other compiles that ran during these stages.</p>
<table><thead><tr><th>time</th><th>compiles</th><th>kind</th><th>cause</th><th>what to do</th></tr>
</thead><tbody>{savings}</tbody></table>
<h2>Timeline</h2>
<p class="quiet key"><span style="color:var(--trace)"></span>trace
<span style="color:var(--lower)"></span>lower <span style="color:var(--compile)"></span>compile
<span style="color:var(--hit)"></span>read from the persistent cache</p>
{timelines}
<h2>Lines that led to compiles</h2>
<p class="quiet">The tree shows the calls in the program's own files that led to compiles. The
outermost call is first. If a library called JAX, the library's innermost line is shown last.</p>
<div class="tree">{tree}</div>
<h2>Compiles</h2>
<table id="compiles"><thead><tr><th>id</th><th>line</th><th>cause</th><th>all</th>
<th>trace</th><th>lower</th><th>compile</th><th>equations</th><th>captured</th>
<th>persistent cache</th></tr></thead><tbody>{rows}</tbody></table>
<p class="quiet">{more}</p>
<h2>Profiles of the slowest functions</h2>
{profiles}
<h2>Processes</h2>
<table><thead><tr><th>process</th><th>pid</th><th>program</th><th>Python</th><th>JAX</th>
<th>from</th><th>to</th><th>end</th></tr></thead><tbody>{processes}</tbody></table>
<script>
// Sort the compiles by the clicked column: numbers in descending, texts in ascending order.
const table = document.getElementById("compiles");
table.querySelectorAll("th").forEach((head, column) => head.addEventListener("click", () => {{
  const value = row => {{
    const data = row.cells[column].querySelector("data");
    const text = row.cells[column].textContent;
    return data ? -data.value : column === 7 ? -text.replaceAll(",", "") : text;
  }};
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
  table.tBodies[0].append(...rows);
}}));
</script>
</body></html>
"""
