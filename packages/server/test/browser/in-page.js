// Runs in the page before its own script: judges what people would see.

const LEAST_CONTRAST = 4.5;

/** Texts that are too much like what is behind them, with the ratio of the two. */
function faintTexts() {
  const faint = new Set();
  for (const element of shownElements()) {
    const text = textOf(element);
    if (text === "") continue;
    const ratio = contrast(luminance(getComputedStyle(element).color), luminance(backgroundOf(element)));
    if (ratio < LEAST_CONTRAST) faint.add(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...faint];
}

/** Texts and controls that cannot be seen whole without scrolling sideways, the page or a part of it. */
function cutOff() {
  const cut = shownElements().filter((element) => {
    if (textOf(element) === "") return false;
    const { left, right } = element.getBoundingClientRect();
    // The link that is there for the keyboard waits outside.
    const waits = element.className === "skip" && element !== document.activeElement;
    const isWide = element.tagName !== "INPUT" && element.scrollWidth > element.clientWidth + 1;
    const overflows = isWide && getComputedStyle(element).display !== "inline";
    return !waits && (left < 0 || right > document.documentElement.clientWidth || overflows);
  });
  return cut.map((element) => textOf(element).slice(0, 40));
}

/** Controls that have no label, and those that share a name or an id within the page's forms. */
function unlabelled() {
  const controls = [...document.querySelectorAll("input, select, textarea")];
  const nameless = controls.filter(({ labels }) => ![...labels].some((label) => label.textContent.trim() !== ""));
  const buttons = [...document.querySelectorAll("button, a, summary")].filter(
    ({ textContent }) => textContent.trim() === "",
  );
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  const references = [...document.querySelectorAll("[aria-describedby], [aria-labelledby]")]
    .map((element) => element.getAttribute("aria-describedby") ?? element.getAttribute("aria-labelledby"))
    .filter((id) => document.getElementById(id) === null);
  return [...[...nameless, ...buttons].map(({ outerHTML }) => outerHTML), ...twice, ...references];
}

function shownElements() {
  return [...document.body.querySelectorAll("*")].filter(
    (element) => element.closest("svg, noscript") === null && element.checkVisibility({ visibilityProperty: true }),
  );
}

/** What an element itself says, without its children. */
function textOf(element) {
  if (element.matches("input, select, textarea")) return element.value;
  const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
  return texts.map(({ data }) => data.trim()).join("");
}

function backgroundOf(element) {
  const { backgroundColor } = getComputedStyle(element);
  if (backgroundColor !== "rgba(0, 0, 0, 0)") return backgroundColor;
  if (element.parentElement === null) throw new Error("the page has no colour of its own");
  return backgroundOf(element.parentElement);
}

/** WCAG 2.2, relative luminance. */
function luminance(color) {
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color);
  if (parts === null) throw new Error(`${color} cannot be judged`);
  const [red, green, blue] = parts.slice(1).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function openAll(kind) {
  for (const element of document.querySelectorAll(kind)) element.open = true;
}

Object.assign(window, { faintTexts, cutOff, unlabelled, openAll });
