export const ANSWER = String.raw`/** Larger bodies are not coloured, which would be slow. */
const LONGEST_COLOURED = 100000;
const MOST_EARLIER = 40;

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function colourOf(status) {
  if (status < 300) return "green";
  if (status < 400) return "blue";
  return status < 500 ? "amber" : "red";
}

/** Colours the names, strings and values of JSON. */
function coloured(json) {
  const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g;
  const parts = [];
  let from = 0;
  for (const match of json.matchAll(tokens)) {
    const [whole, text, colon] = match;
    const className = text === undefined ? "value" : colon === undefined ? "text" : "name";
    parts.push(json.slice(from, match.index), make("span", { className }, text || whole), colon || "");
    from = match.index + whole.length;
  }
  return [...parts, json.slice(from)];
}

function bodyOf(text) {
  try {
    const pretty = JSON.stringify(JSON.parse(text), null, 2);
    return pretty.length > LONGEST_COLOURED ? [pretty] : coloured(pretty);
  } catch {
    return [text];
  }
}

function shown(title, ...children) {
  return make("div", {}, make("h3", {}, title), ...children);
}

/** Content that is hidden until it is opened. */
function more(title, content) {
  return make("details", { className: "more" }, make("summary", {}, title), content);
}

function scrollable(label, ...children) {
  const element = make("pre", { tabIndex: 0 }, ...children);
  element.setAttribute("role", "region");
  element.setAttribute("aria-label", label);
  return element;
}

/** Shows the latest response of a route, and the statuses of earlier ones. */
function answerPanel() {
  const outcome = make("p", { className: "outcome" });
  outcome.setAttribute("role", "status");
  const earlier = make("ol", { className: "earlier", hidden: true });
  earlier.setAttribute("aria-label", "Earlier responses");
  const rest = make("div", { className: "answer" });
  const panel = make("section", { className: "answer" }, outcome, earlier, rest);
  panel.setAttribute("aria-label", "Response");

  function count(status) {
    earlier.append(make("li", { className: colourOf(status) }, String(status)));
    while (earlier.children.length > MOST_EARLIER) earlier.firstChild.remove();
    earlier.hidden = earlier.children.length < 2;
  }

  return {
    panel,
    show({ status, statusText, headers, text, ms }, curl) {
      const badge = make("span", { className: "status " + colourOf(status) }, String(status));
      const size = new Blob([text]).size;
      const figures = make("span", { className: "note" }, Math.round(ms) + " ms, " + size + " bytes");
      outcome.replaceChildren(badge, " ", statusText, " ", figures);
      count(status);
      const fields = headers.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
      rest.replaceChildren(
        ...(text === "" ? [] : [shown("Body", scrollable("Response body", ...bodyOf(text)))]),
        shown("Headers", make("dl", { className: "headers" }, ...fields)),
        more("Same request with curl", scrollable("curl", curl)),
      );
    },
    fail(error) {
      const badge = make("span", { className: "status red" }, "No response");
      outcome.replaceChildren(badge, " ", String(error.message || error));
      rest.replaceChildren();
    },
  };
}
`;
