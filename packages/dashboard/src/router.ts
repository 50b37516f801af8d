import { useEffect, useState } from "preact/hooks";

/** What the part of the address after # says: `#/why?identifier=ann`. */
export interface Route {
  /** The parts of the path, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export function routeIn(hash: string): Route {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter((part) => part !== "");
  return { parts: parts.map(decoded), query: new URLSearchParams(query) };
}

/** An address within the dashboard. */
export function linkTo(parts: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function navigate(link: string): void {
  location.hash = link;
}

/** Changes the address without an entry in the history of the browser, as while a slider moves. */
export function replaceLink(link: string): void {
  history.replaceState(null, "", link);
}

export function useRoute(): Route {
  const [{ route }, setPlace] = useState(placeNow);
  useEffect(() => {
    const follow = (): void => setPlace(placeNow());
    addEventListener("hashchange", follow);
    // Effects run after the page was painted: by then, the address may have changed.
    setPlace((before) => (before.hash === location.hash ? before : placeNow()));
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

function placeNow(): { readonly hash: string; readonly route: Route } {
  const { hash } = location;
  return { hash, route: routeIn(hash) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
