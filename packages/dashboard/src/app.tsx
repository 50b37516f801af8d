import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { api } from "./api/client.ts";
import { type ApiProblem, asProblem } from "./api/problem.ts";
import { currentSession, endSession, SessionContext, type SessionState } from "./api/session.ts";
import type { Session } from "./api/types.ts";
import { Shell } from "./layout/shell.tsx";
import { SignIn } from "./layout/sign-in.tsx";
import { ThemeContext, useChosenTheme } from "./layout/theme.ts";
import { type Route, useRoute } from "./router.ts";
import { screens } from "./screens/registry.tsx";
import { ProblemNote, Waiting } from "./ui/parts.tsx";

type Access = { readonly session: Session | null; readonly wasLost: boolean };

/** The whole page: the sign-in, or the screen that the address names. */
export function App() {
  const route = useRoute();
  const theme = useChosenTheme();
  const [access, setAccess] = useState<Access>();
  const [problem, setProblem] = useState<ApiProblem>();

  const adopt = useCallback((session: Session | null, wasLost = false): void => {
    api.adopt(session);
    setAccess({ session, wasLost });
  }, []);
  const begin = useCallback((): void => {
    setProblem(undefined);
    currentSession().then(adopt, (error: unknown) => setProblem(asProblem(error)));
  }, [adopt]);
  useEffect(() => {
    api.onSessionLost = () => adopt(null, true);
    begin();
  }, [adopt, begin]);

  const state = useMemo(
    (): SessionState => ({
      session: access?.session ?? null,
      wasLost: access?.wasLost ?? false,
      signedIn: adopt,
      signOut: async () => {
        await endSession().catch(() => {});
        adopt(null);
      },
    }),
    [access, adopt],
  );

  return (
    <ThemeContext.Provider value={theme}>
      <SessionContext.Provider value={state}>
        {access === undefined ? (
          <Beginning problem={problem} retry={begin} />
        ) : (
          <Chosen route={route} isSignedIn={access.session !== null} />
        )}
      </SessionContext.Provider>
    </ThemeContext.Provider>
  );
}

/** The screen that the address names, or the sign-in if it needs one. */
function Chosen({ route, isSignedIn }: { readonly route: Route; readonly isSignedIn: boolean }) {
  const [name = "overview"] = route.parts;
  const screen = screens.find(({ path }) => path === name) ?? screens[0];
  if (!isSignedIn && !screen.isOpen) return <SignIn />;
  const { component: Component } = screen;
  return (
    <Shell screen={screen} place={route.parts.join("/")}>
      <Component route={route} />
    </Shell>
  );
}

function Beginning({ problem, retry }: { readonly problem: ApiProblem | undefined; readonly retry: () => void }) {
  return (
    <main class="sign-in">
      <h1 class="visually-hidden">Headgate</h1>
      <div class="sign-in-card">
        {problem === undefined ? <Waiting /> : <ProblemNote problem={problem} retry={retry} />}
      </div>
    </main>
  );
}
