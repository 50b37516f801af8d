/** Colours are pairs, for light and dark; each text has 4.5 : 1 at least against what is behind it. */
export const STYLE = `:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #0f1317);
  --card: light-dark(#ffffff, #171c22);
  --sunken: light-dark(#f3f5f8, #0f1317);
  --line: light-dark(#d5dae1, #2d353f);
  --control: light-dark(#7d8792, #737e8b);
  --text: light-dark(#1a2027, #e8ecf1);
  --quiet: light-dark(#515c68, #a6b1bd);
  --accent: light-dark(#0b5cad, #86c0ff);
  --on-accent: light-dark(#ffffff, #06223f);
  --blue: light-dark(#0b5cad, #a3cfff);
  --blue-back: light-dark(#e3effc, #12304f);
  --green: light-dark(#13653f, #8fdcb2);
  --green-back: light-dark(#def4e7, #12382a);
  --amber: light-dark(#7c4a00, #ffc979);
  --amber-back: light-dark(#fdeed2, #402c0b);
  --red: light-dark(#a81b1b, #ffaca6);
  --red-back: light-dark(#fde6e4, #4a1b1b);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  font: 1rem/1.5 system-ui, sans-serif;
  color: var(--text);
  background: var(--page);
  max-width: 76rem;
  margin: 0 auto;
  padding: 1rem;
}
p { margin: 0; }
a { color: var(--accent); }
code, pre, textarea, .path { font-family: var(--mono); font-size: .875rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; background: var(--card); padding: .5rem; z-index: 1; }
.skip:focus { left: 1rem; }
.note { color: var(--quiet); font-size: .875rem; }

/* The head of the page. */
header, details.route { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
header { padding: 1.25rem; display: grid; gap: 1rem; }
.brand { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
.brand > div { flex: 1 1 12rem; }
.brand svg { flex: none; }
.brand p { color: var(--quiet); }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
.document { font-family: var(--mono); font-size: .875rem; }
.secret { display: flex; gap: .5rem; margin-bottom: .35rem; }
.secret input { flex: 1; min-width: 0; font-family: var(--mono); }
.steps { margin: 0; padding: 0; list-style: none; counter-reset: step; display: grid; gap: .5rem; }
.steps li { counter-increment: step; position: relative; padding-left: 2.25rem; }
.steps li::before {
  content: counter(step);
  position: absolute;
  left: 0;
  width: 1.5rem;
  text-align: center;
  border-radius: 1rem;
  font-weight: 700;
  font-size: .875rem;
  color: var(--blue);
  background: var(--blue-back);
}

/* Where one can go. */
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; margin-top: 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem; align-content: start; }
nav a { text-decoration: none; text-transform: capitalize; padding: .25rem .75rem; border-radius: 1rem; }
nav a:hover { background: var(--blue-back); }

/* The routes. */
main > section { margin-bottom: 2rem; }
h2 { font-size: 1.2rem; margin: 0; text-transform: capitalize; }
main > section > p { color: var(--quiet); margin-bottom: .75rem; }
details.route { margin: .5rem 0; }
details.route > summary { padding: .7rem 1rem; display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
summary { cursor: pointer; border-radius: .75rem; }
details.route[open] > summary { border-bottom: 1px solid var(--line); border-radius: .75rem .75rem 0 0; }
details.route > summary::-webkit-details-marker { display: none; }
details.route > summary:hover .path { text-decoration: underline; }
.method, .status, .earlier li {
  font: 700 .75rem/1.5 var(--mono);
  padding: .1rem .5rem;
  border-radius: .35rem;
}
.method { width: 4.5rem; text-align: center; }
.blue { color: var(--blue); background: var(--blue-back); }
.green { color: var(--green); background: var(--green-back); }
.amber { color: var(--amber); background: var(--amber-back); }
.red { color: var(--red); background: var(--red-back); }
.path { font-weight: 600; overflow-wrap: anywhere; }
.path i { font-style: normal; color: var(--amber); }
.what { color: var(--quiet); flex: 1 1 16rem; }
.role { font-size: .75rem; color: var(--quiet); border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; }

/* A route that is open: the question, and the answer beside or below it. */
.try { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.25rem; padding: 1rem; }
.fields { display: grid; gap: .75rem; align-content: start; }
label { display: block; font-weight: 600; margin-bottom: .2rem; }
label small { font-weight: 400; color: var(--quiet); }
input, select, textarea, button { font: inherit; padding: .45rem .65rem; border: 1px solid var(--control); border-radius: .4rem; }
input, select, textarea { color: inherit; background: var(--sunken); width: 100%; }
textarea { font-family: var(--mono); font-size: .875rem; resize: vertical; display: block; }
button { cursor: pointer; font-weight: 600; color: var(--accent); background: transparent; }
button[type="submit"] { color: var(--on-accent); background: var(--accent); border-color: var(--accent); padding-inline: 1.5rem; }
button[type="submit"]:hover { filter: brightness(1.1); }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
.buttons .note { flex: 1; }
details.more > summary { color: var(--accent); font-size: .875rem; width: fit-content; }
details.more[open] > summary { margin-bottom: .5rem; }
dl { margin: 0; display: grid; gap: .15rem .75rem; font-size: .875rem; }
dt { font-family: var(--mono); font-weight: 600; overflow-wrap: anywhere; }
dt small { font-family: system-ui, sans-serif; font-weight: 400; color: var(--quiet); }
dd { margin: 0 0 .35rem; color: var(--quiet); overflow-wrap: anywhere; }
.headers dd { font-family: var(--mono); color: inherit; }

.answer { display: grid; gap: .75rem; align-content: start; min-width: 0; }
.answer h3 { font-size: .875rem; margin: 0 0 .25rem; }
.outcome { display: flex; flex-wrap: wrap; gap: .25rem .6rem; align-items: baseline; font-weight: 600; }
.outcome .status { font-size: 1rem; }
.outcome .note { font-weight: 400; }
.earlier { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; padding: 0; list-style: none; }
pre {
  margin: 0;
  padding: .75rem;
  border: 1px solid var(--line);
  border-radius: .5rem;
  background: var(--sunken);
  max-height: 40rem;
  overflow: auto;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.name { color: var(--blue); }
.text { color: var(--green); }
.value { color: var(--amber); }

@media (min-width: 40rem) {
  .steps { grid-template-columns: repeat(3, 1fr); column-gap: 1.5rem; }
  .headers { grid-template-columns: max-content minmax(0, 1fr); }
  .headers dd { margin: 0; }
}
@media (min-width: 62rem) {
  .columns { grid-template-columns: 9rem minmax(0, 1fr); gap: 1.5rem; margin-top: 1.5rem; }
  nav { flex-direction: column; position: sticky; top: 1rem; height: fit-content; }
  .try { grid-template-columns: minmax(0, 1fr) minmax(0, 1.1fr); }
  .try > .fields { position: sticky; top: 1rem; }
  .try:not(:has(.answer)) { grid-template-columns: minmax(0, 1fr); }
}
`;
