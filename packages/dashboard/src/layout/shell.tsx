import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSession } from "../api/session.ts";
import { type Screen, screens } from "../screens/registry.tsx";
import { Icon } from "./icons.tsx";
import { useTheme } from "./theme.ts";

const GROUPS = ["Service", "Plan", "Reference"] as const;

/** The navigation, and the screen that is open. */
export function Shell({
  screen,
  place,
  children,
}: {
  readonly screen: Screen;
  /** Changes with the address; then the screen begins at its top. */
  readonly place: string;
  readonly children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  // A new address is the occasion.
  useEffect(() => {
    setOpen(false);
    document.title = `${screen.title} · Headgate`;
    // Where a page would begin if it were loaded.
    if (!isFirst.current) {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [place]);

  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <Brand />
        <button
          type="button"
          class="button is-small"
          aria-expanded={isOpen}
          aria-controls="side"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </header>
      <aside class={isOpen ? "side is-open" : "side"} id="side">
        <Brand />
        <nav aria-label="Screens">
          {GROUPS.filter((group) => screens.some((screen) => screen.group === group)).map((group) => (
            <NavGroup key={group} name={group} current={screen} />
          ))}
        </nav>
        <Who />
      </aside>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Brand() {
  return (
    <a class="brand" href="#/overview">
      <img src="/assets/icon.svg" alt="" width="28" height="28" />
      Headgate
    </a>
  );
}

function NavGroup({ name, current }: { readonly name: Screen["group"]; readonly current: Screen }) {
  return (
    <div>
      <h2>{name}</h2>
      <ul>
        {screens
          .filter(({ group }) => group === name)
          .map((screen) => (
            <li key={screen.path}>
              <a href={`#/${screen.path}`} {...(screen === current && { "aria-current": "page" })}>
                <Icon name={screen.icon} />
                {screen.title}
              </a>
            </li>
          ))}
      </ul>
    </div>
  );
}

function Who() {
  const { session, signOut } = useSession();
  const { theme, toggle } = useTheme();
  return (
    <div class="who">
      {session === null ? (
        <p class="muted">Not signed in</p>
      ) : (
        <p>
          <strong>{session.name}</strong>
          <br />
          <span class="muted">{session.roles.includes("write") ? "May read and change" : "May only read"}</span>
        </p>
      )}
      <div class="who-actions">
        {session === null ? (
          <a class="button is-small" href="#/overview">
            Sign in
          </a>
        ) : (
          <button type="button" class="button is-small" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
        <button type="button" class="button is-small" onClick={toggle}>
          {theme === "dark" ? "Light" : "Dark"} theme
        </button>
      </div>
    </div>
  );
}
