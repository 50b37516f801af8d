// The few shapes that the figures are made of. Each figure has a background of its own, so that it can be read wherever
// it is embedded, and follows the color scheme of the reader.

const style = `
    svg { --back: #ffffff; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --fill: #f3f5f7; --good: #0969da; --area: #cfe4fb; --bad: #bc4c00; --warm: #fbe0cc; }
    @media (prefers-color-scheme: dark) {
      svg { --back: #15181d; --text: #e6edf3; --soft: #9aa4af; --line: #343b44; --fill: #1f242c; --good: #58a6ff; --area: #17365c; --bad: #f0883e; --warm: #4a2a12; }
    }
    text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--text); }
    .soft { fill: var(--soft); }
    .small { font-size: 11.5px; }
    .tiny { font-size: 10.5px; }
    .bold { font-weight: 600; }
    .code { font-family: ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
    .line { fill: none; stroke: var(--line); }
    .edge { fill: none; stroke: var(--soft); }
    .dashed { stroke-dasharray: 3 3; }
    .box { fill: var(--fill); stroke: var(--line); }
    .good { fill: none; stroke: var(--good); stroke-width: 1.5; }
    .area { fill: var(--area); }
    .dot { fill: var(--good); }
    .bad { fill: none; stroke: var(--bad); stroke-width: 1.5; }
    .held { fill: var(--good); }
    .warm { fill: var(--warm); }
    .mark { fill: var(--text); }
    .on-mark { fill: var(--back); font-size: 11px; font-weight: 600; text-anchor: middle; }
    .middle { text-anchor: middle; }
    .end { text-anchor: end; }
`;

/**
 * @param {{ width: number, height: number, title: string, description: string, body: readonly string[] }} figure
 */
export function svg({ width, height, title, description, body }) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <desc id="description">${escaped(description)}</desc>`,
    `  <style>${style}  </style>`,
    `  <rect width="${width}" height="${height}" rx="8" style="fill: var(--back)"/>`,
    ...body.map((line) => `  ${line}`),
    "</svg>",
    "",
  ].join("\n");
}

export function text(x, y, content, classes = "") {
  return `<text x="${round(x)}" y="${round(y)}"${classOf(classes)}>${escaped(content)}</text>`;
}

export function rect(x, y, width, height, classes, radius = 0) {
  const corners = radius > 0 ? ` rx="${radius}"` : "";
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"${corners}${classOf(classes)}/>`;
}

export function path(d, classes) {
  return `<path d="${d}"${classOf(classes)}/>`;
}

/** One path element for many dots. */
export function dots(points, radius = 2.4) {
  const each = points.map(
    ([x, y]) =>
      `M${round(x - radius)} ${round(y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`,
  );
  return path(each.join(""), "dot");
}

/** One path element for many crosses. */
export function crosses(points, radius = 2.4) {
  const each = points.map(
    ([x, y]) =>
      `M${round(x - radius)} ${round(y - radius)}l${2 * radius} ${2 * radius}m0 ${-2 * radius}l${-2 * radius} ${2 * radius}`,
  );
  return path(each.join(""), "bad");
}

/** One path element for many vertical strokes. */
export function strokes(points, height, classes) {
  return path(points.map(([x, y]) => `M${round(x)} ${round(y)}v${height}`).join(""), classes);
}

/** A line through points, without those that lie on the line between their neighbors. */
export function polyline(points) {
  const kept = [];
  for (const point of points) {
    const [before, last] = kept.slice(-2);
    if (last !== undefined && isBetween(before, last, point)) kept.pop();
    kept.push(point);
  }
  return `M${kept.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;
}

function isBetween([x0, y0], [x1, y1], [x2, y2]) {
  const cross = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0);
  const along = (x1 - x0) * (x2 - x1) + (y1 - y0) * (y2 - y1);
  return Math.abs(cross) < 1e-6 && along >= 0;
}

/** A numbered mark, explained below the figure. */
export function mark(x, y, number) {
  return `<circle cx="${round(x)}" cy="${round(y)}" r="9" class="mark"/>${text(x, y + 4, String(number), "on-mark")}`;
}

function classOf(classes) {
  return classes === "" ? "" : ` class="${classes}"`;
}

function round(value) {
  return String(Math.round(value * 10) / 10);
}

function escaped(content) {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
