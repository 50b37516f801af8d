import { useRef, useState } from "preact/hooks";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import { startSession, useSession } from "../api/session.ts";
import { screens } from "../screens/registry.tsx";
import { Note, ProblemNote } from "../ui/parts.tsx";

/** Exchanges an API key for a session. The key itself is not kept by the page. */
export function SignIn() {
  const { signedIn, wasLost } = useSession();
  const [isShown, setShown] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<ApiProblem>();
  const input = useRef<HTMLInputElement>(null);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    if (key === "" || isBusy) return;
    setBusy(true);
    try {
      signedIn(await startSession(key));
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
      input.current?.focus();
    }
  };

  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <div>
          <span class="brand">
            <img src="/assets/icon.svg" alt="" width="28" height="28" />
            Headgate
          </span>
        </div>
        <div>
          <h1>Sign in</h1>
          <p class="muted">Use an API key that has the role read. To change rules, it also needs write.</p>
        </div>
        {wasLost && problem === undefined && (
          <Note tone="warning">
            <strong>Your session has ended.</strong>
            <span>It expired, or its API key was revoked. Sign in again to continue where you were.</span>
          </Note>
        )}
        {problem && <ProblemNote problem={explained(problem)} />}
        <form onSubmit={(event) => void submit(event)} autocomplete="off">
          <div class="field">
            <label for="key">API key</label>
            <div class="with-action">
              <input
                id="key"
                ref={input}
                {...(isShown ? { type: "text" as const } : { type: "password" as const })}
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
                required
                aria-describedby="key-hint"
              />
              <button type="button" class="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
                Show
              </button>
            </div>
            <p class="hint" id="key-hint">
              The service printed the first key, or the name of its file, when it first started.
            </p>
          </div>
          <button type="submit" class="button is-primary" aria-disabled={isBusy}>
            {isBusy ? "Signing in…" : "Sign in"}
          </button>
        </form>
        <footer>
          <p>No key at hand? These need none:</p>
          <ul class="actions">
            {screens
              .filter(({ isOpen }) => isOpen)
              .map(({ path, title }) => (
                <li key={path}>
                  <a href={`#/${path}`}>{title}</a>
                </li>
              ))}
          </ul>
        </footer>
      </div>
    </main>
  );
}

/** The service explains keys for programs; people read this. */
function explained(problem: ApiProblem): ApiProblem {
  if (problem.code !== "unauthenticated") return problem;
  return Object.assign(problem, {
    message: "This API key is not valid.",
    advice: "Check that it was copied whole, and that it has neither expired nor been revoked.",
  });
}
