import type { App } from "./app.ts";

/** Nothing but files of our own, and nobody may frame them. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** A page that reads /openapi.json and lets people try the routes. It keeps a key only as long as it is open. */
export function tryPageRoutes(app: App): void {
  const hidden = { schema: { hide: true } };
  app.get("/", hidden, (_request, reply) => reply.redirect("/docs"));
  const files = [
    ["/docs", "text/html; charset=utf-8", HTML],
    ["/docs/page.js", "text/javascript; charset=utf-8", SCRIPT],
    ["/docs/page.css", "text/css; charset=utf-8", STYLE],
  ] as const;
  for (const [url, type, text] of files) {
    app.get(url, hidden, (_request, reply) => reply.headers(HEADERS).type(type).send(text));
  }
}

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headgate: try the API</title>
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/page.js" defer></script>
</head>
<body>
<a class="skip" href="#routes">Skip to the routes</a>
<header>
<h1>Headgate</h1>
<p>Every route, to read about and to try. Machines read <a href="/openapi.json">/openapi.json</a>.</p>
<form id="access" autocomplete="off">
<label for="key">Key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" aria-describedby="key-note">
<p id="key-note">Sent as a bearer token, and forgotten when this page is closed.</p>
</form>
</header>
<main id="routes"><p id="loading" role="status">Loading…</p></main>
<noscript><p>This page needs JavaScript; /openapi.json does not.</p></noscript>
</body>
</html>
`;

const STYLE = `:root { color-scheme: light dark; --line: light-dark(#767676, #8a8a8a); --soft: light-dark(#f3f4f6, #22262b); }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; }
:focus-visible { outline: 3px solid light-dark(#0b57d0, #8ab4f8); outline-offset: 2px; }
label { display: block; font-weight: 600; margin-top: .75rem; }
input, textarea, button { font: inherit; padding: .4rem .6rem; border: 1px solid var(--line); border-radius: .25rem; }
input, textarea { width: 100%; }
textarea, pre, code { font-family: ui-monospace, monospace; font-size: .9rem; }
button { margin-top: .75rem; cursor: pointer; font-weight: 600; }
details { border: 1px solid var(--line); border-radius: .25rem; margin: .5rem 0; padding: .5rem .75rem; }
summary { cursor: pointer; }
summary code { font-weight: 700; }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
`;

const SCRIPT = `"use strict";
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** An example of what a schema describes: what must be there, or has an example. */
function exampleOf(schema = {}) {
  if (schema.examples) return schema.examples[0];
  if ("default" in schema) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const variants = schema.anyOf || schema.oneOf || schema.allOf;
  if (variants) return exampleOf(variants[0]);
  if (schema.type === "array") return [exampleOf(schema.items)];
  if (schema.type === "object") {
    const properties = Object.entries(schema.properties || {});
    const shown = properties.filter(([name, of]) => (schema.required || []).includes(name) || of.examples);
    return Object.fromEntries(shown.map(([name, of]) => [name, exampleOf(of)]));
  }
  if (schema.type === "integer" || schema.type === "number") return Math.max(1, schema.minimum || 1);
  if (schema.type === "boolean") return false;
  return schema.type === "null" ? null : "";
}

let counter = 0;
function field(form, label, control, note) {
  counter += 1;
  control.id = "field-" + counter;
  form.append(make("label", { htmlFor: control.id }, label), control);
  if (note) {
    const text = make("p", { id: control.id + "-note" }, note);
    control.setAttribute("aria-describedby", text.id);
    form.append(text);
  }
  return control;
}

function route(method, path, operation) {
  const form = make("form", { autocomplete: "off" });
  const parameters = (operation.parameters || []).map((parameter) => {
    const { default: usual = "" } = parameter.schema || {};
    const control = make("input", { required: parameter.required === true, value: String(usual) });
    return { ...parameter, control: field(form, parameter.name + " (" + parameter.in + ")", control, parameter.description) };
  });
  const schema = operation.requestBody && operation.requestBody.content["application/json"].schema;
  const body = schema && field(form, "Body", make("textarea", { rows: 8, spellcheck: false, value: JSON.stringify(exampleOf(schema), null, 2) }));
  const output = make("pre", { tabIndex: 0, hidden: true });
  output.setAttribute("role", "status");
  output.setAttribute("aria-label", "Answer");
  form.append(make("button", { type: "submit" }, "Send"), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = false;
    output.textContent = "…";
    try {
      output.textContent = await send(method, path, parameters, body);
    } catch (error) {
      output.textContent = String(error);
    }
  });
  return make("details", {}, make("summary", {}, make("code", {}, method.toUpperCase() + " " + path), " " + (operation.summary || "")), form);
}

async function send(method, path, parameters, body) {
  const query = new URLSearchParams();
  const headers = {};
  const key = document.getElementById("key").value.trim();
  if (key !== "") headers.authorization = "Bearer " + key;
  for (const parameter of parameters) {
    const value = parameter.control.value;
    if (parameter.in === "path") path = path.replace("{" + parameter.name + "}", encodeURIComponent(value));
    else if (value !== "" && parameter.in === "query") query.set(parameter.name, value);
    else if (value !== "" && parameter.in === "header") headers[parameter.name] = value;
  }
  if (body) headers["content-type"] = "application/json";
  const url = query.size > 0 ? path + "?" + query : path;
  const response = await fetch(url, { method: method.toUpperCase(), headers, body: body && body.value, credentials: "omit" });
  const text = await response.text();
  const told = [...response.headers].map(([name, value]) => name + ": " + value).join("\\n");
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON. */ }
  return response.status + " " + response.statusText + "\\n" + told + "\\n\\n" + shown;
}

async function load() {
  const { tags, paths } = await (await fetch("/openapi.json", { credentials: "omit" })).json();
  const sections = tags.map(({ name, description }) => {
    const id = "tag-" + name;
    const section = make("section", {}, make("h2", { id }, name), make("p", {}, description));
    section.setAttribute("aria-labelledby", id);
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        if ((operation.tags || []).includes(name)) section.append(route(method, path, operation));
      }
    }
    return section;
  });
  document.getElementById("routes").replaceChildren(...sections);
}

document.getElementById("access").addEventListener("submit", (event) => event.preventDefault());
load().catch((error) => { document.getElementById("loading").textContent = "The routes could not be loaded: " + error; });
`;
