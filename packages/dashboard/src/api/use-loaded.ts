import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiProblem, asProblem } from "./problem.ts";

/** Data that a screen loads. The last data stays while it is loaded again. */
export interface Loaded<Data> {
  readonly data: Data | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads data when the screen opens, when `dependencies` change, and every `everyMs` while the page is visible. */
export function useLoaded<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  dependencies: readonly unknown[],
  everyMs?: number,
): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, "reload">>({
    data: undefined,
    problem: undefined,
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  // The caller says when to load again.
  useEffect(() => {
    const leaving = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(leaving.signal).then(
      (data) => {
        if (!leaving.signal.aborted) setState({ data, problem: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) setState(({ data }) => ({ data, problem: asProblem(error), isLoading: false }));
      },
    );
    return () => leaving.abort();
  }, [...dependencies, turn]);

  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTurn((before) => before + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}
