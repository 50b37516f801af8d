export const PAGE = String.raw`const COLOURS = { get: "blue", post: "green", put: "amber", delete: "red" };

/** The fragment that identifies a route on this page. */
function anchorOf(method, path) {
  return method + path.replaceAll(/[^a-z0-9]+/gi, "-").replace(/-$/, "");
}

function summaryOf(method, path, { summary = "", security }) {
  const parts = path.split(/(\{\w+\})/).map((part) => (part.startsWith("{") ? make("i", {}, part) : part));
  const role = security?.[0]?.key[0];
  return make(
    "summary",
    {},
    make("span", { className: "method " + COLOURS[method] }, method.toUpperCase()),
    " ",
    make("code", { className: "path" }, ...parts),
    " ",
    make("span", { className: "what" }, summary),
    " ",
    ...(role ? [make("span", { className: "role" }, "role: " + role)] : []),
  );
}

/** A route, whose form is created when it is first opened. */
function routeOf(method, path, operation) {
  const route = make("details", { className: "route", id: anchorOf(method, path) }, summaryOf(method, path, operation));
  route.addEventListener("toggle", () => route.append(formOf(method, path, operation)), { once: true });
  return route;
}

function sectionOf({ name, description }, paths) {
  const section = make("section", {}, make("h2", { id: name }, name), make("p", {}, description));
  section.setAttribute("aria-labelledby", name);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if ((operation.tags || []).includes(name)) section.append(routeOf(method, path, operation));
    }
  }
  return section;
}

/** Opens the route named by the fragment. */
function openNamed() {
  const named = document.getElementById(location.hash.slice(1));
  if (!named || named.tagName !== "DETAILS") return;
  named.open = true;
  named.firstChild.focus();
  named.scrollIntoView();
}

async function load() {
  const response = await fetch("/openapi.json", { credentials: "omit" });
  const { tags, paths } = await response.json();
  const links = tags.map(({ name }) => make("a", { href: "#" + name }, name));
  document.getElementById("sections").replaceChildren(...links);
  document.getElementById("routes").replaceChildren(...tags.map((tag) => sectionOf(tag, paths)));
  openNamed();
}

const key = document.getElementById("key");
const showKey = document.getElementById("show-key");
showKey.addEventListener("click", () => {
  const isShown = key.type === "text";
  key.type = isShown ? "password" : "text";
  showKey.ariaPressed = String(!isShown);
});
document.getElementById("access").addEventListener("submit", (event) => event.preventDefault());
// A click on a link to the current fragment does not fire hashchange.
document.addEventListener("click", ({ target }) => {
  const link = target.closest("a");
  if (link && link.hash !== "" && link.hash === location.hash) openNamed();
});
addEventListener("hashchange", openNamed);
load().catch((error) => {
  document.getElementById("loading").textContent = "Could not load the routes: " + error;
});
`;
