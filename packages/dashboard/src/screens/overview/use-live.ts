import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { currentSession } from "../../api/session.ts";
import type { LivePicture } from "../../api/types.ts";

/** Five minutes at one picture every two seconds. */
const MOST_POINTS = 150;

export interface Live {
  readonly picture: LivePicture | undefined;
  /** Pictures since the screen was opened. */
  readonly recent: readonly LivePicture[];
  readonly isConnected: boolean;
}

/** Follows what all nodes do. The browser connects again by itself after a failure. */
export function useLive(): Live {
  const [live, setLive] = useState<Live>({ picture: undefined, recent: [], isConnected: false });
  const isAsking = useRef(false);
  useEffect(() => {
    let retry: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource | undefined;
    const connect = (): void => {
      source = new EventSource("/api/v1/live");
      source.addEventListener("picture", (event) => {
        const picture: LivePicture = JSON.parse(event.data);
        setLive(({ recent }) => ({ picture, recent: [...recent, picture].slice(-MOST_POINTS), isConnected: true }));
      });
      source.addEventListener("error", () => {
        setLive((before) => ({ ...before, isConnected: false }));
        void whyFailed();
        // A response other than 200 ends it for good.
        if (source?.readyState === EventSource.CLOSED) retry = setTimeout(connect, 3_000);
      });
    };
    /** The stream itself does not say whether the session has ended. */
    const whyFailed = async (): Promise<void> => {
      if (isAsking.current) return;
      isAsking.current = true;
      try {
        if ((await currentSession()) === null) api.onSessionLost();
      } catch {
        // The service cannot be reached, which the screen shows anyway.
      }
      isAsking.current = false;
    };
    connect();
    return () => {
      clearTimeout(retry);
      source?.close();
    };
  }, []);
  return live;
}
