import { useState } from "preact/hooks";
import { linkTo, type Route, replaceLink } from "../../router.ts";
import { ScreenHead } from "../../ui/parts.tsx";
import { type PlaygroundState, queryOf, stateIn } from "./playground-state.ts";
import { PlaygroundView } from "./playground-view.tsx";
import "./playground.css";

/** The playground as a screen, whose address follows what is shown. */
export function Playground({ route }: { readonly route: Route }) {
  const [state, setState] = useState(() => stateIn(route.query));
  const [wasCopied, setCopied] = useState(false);
  const change = (next: PlaygroundState): void => {
    setState(next);
    setCopied(false);
    replaceLink(linkTo(["playground"], queryOf(next)));
  };
  const copy = async (): Promise<void> => {
    const link = linkTo(["playground"], queryOf(state));
    replaceLink(link);
    // Only where the connection is encrypted; otherwise the address itself can be copied.
    await navigator.clipboard?.writeText(new URL(link, location.href).href).catch(() => {});
    setCopied(true);
  };
  return (
    <div class="screen">
      <ScreenHead
        title="Playground"
        actions={
          <button type="button" class="button" onClick={() => void copy()}>
            {wasCopied ? "The link is in the address bar" : "Link to this"}
          </button>
        }
      >
        The algorithms side by side, on the same traffic. They are the ones that the service runs, in your browser.
      </ScreenHead>
      <PlaygroundView state={state} onChange={change} />
    </div>
  );
}
