import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { api } from "./client.ts";
import type { Role, Session } from "./types.ts";

export interface SessionState {
  /** null: signed out. */
  readonly session: Session | null;
  /** Whether a session ended that the user did not end. */
  readonly wasLost: boolean;
  readonly signedIn: (session: Session) => void;
  readonly signOut: () => Promise<void>;
}

export const SessionContext = createContext<SessionState>({
  session: null,
  wasLost: false,
  signedIn: () => {},
  signOut: async () => {},
});

export function useSession(): SessionState {
  return useContext(SessionContext);
}

/** Whether the API key of the session has a role. */
export function useMay(role: Role): boolean {
  return useSession().session?.roles.includes(role) ?? false;
}

export async function currentSession(): Promise<Session | null> {
  const { session } = await api.get<{ session: Session | null }>("/api/v1/session");
  return session;
}

export async function startSession(key: string): Promise<Session> {
  return (await api.send<Session>("/api/v1/session", { method: "POST", body: { key } })).body;
}

export async function endSession(): Promise<void> {
  await api.send("/api/v1/session", { method: "DELETE" });
}
