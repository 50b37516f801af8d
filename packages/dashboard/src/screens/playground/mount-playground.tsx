import { render } from "preact";
import { useState } from "preact/hooks";
import base from "../../styles/base.css?inline";
import components from "../../styles/components.css?inline";
import layout from "../../styles/layout.css?inline";
import own from "./playground.css?inline";
import { type PlaygroundState, queryOf, stateIn } from "./playground-state.ts";
import { PlaygroundView } from "./playground-view.tsx";

/** Pages of the documentation are narrower than the dashboard. */
const NARROW =
  ":host { display: block; font: 14px/1.5 var(--font); color: var(--text); } .columns { grid-template-columns: minmax(0, 1fr) !important; }";

/**
 * Shows the playground on a page that has styles of its own, such as one of the documentation. It follows the class
 * `dark` of the page. Returns a function that removes it.
 */
export function mountPlayground(host: HTMLElement): () => void {
  const shadow = host.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  // The variables belong to the page in the dashboard, and to the host here.
  const rules = [base, layout, components, own].join("\n");
  style.textContent = `${rules.replaceAll(/:root(\[[^\]]+\])?/g, (_, part = "") => (part === "" ? ":host" : `:host(${part})`))}${NARROW}`;
  const place = document.createElement("div");
  place.className = "screen";
  shadow.append(style, place);
  const { documentElement: page } = document;
  const follow = (): void => host.setAttribute("data-theme", page.classList.contains("dark") ? "dark" : "light");
  follow();
  const observer = new MutationObserver(follow);
  observer.observe(page, { attributes: true, attributeFilter: ["class"] });
  render(<OnPage />, place);
  return () => {
    observer.disconnect();
    render(null, place);
  };
}

function OnPage() {
  const [state, setState] = useState(() => stateIn(new URLSearchParams(location.search)));
  const change = (next: PlaygroundState): void => {
    setState(next);
    history.replaceState(history.state, "", `?${new URLSearchParams(queryOf(next))}`);
  };
  return <PlaygroundView state={state} onChange={change} />;
}
