import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const STORED = "headgate-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export const ThemeContext = createContext<{ readonly theme: Theme; readonly toggle: () => void }>({
  theme: "light",
  toggle: () => {},
});

export function useTheme() {
  return useContext(ThemeContext);
}

/** The theme of the system, unless the user has chosen the other. */
export function useChosenTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const [system, setSystem] = useState<Theme>(dark.matches ? "dark" : "light");
  const [chosen, setChosen] = useState(() => localStorage.getItem(STORED));
  const theme = chosen === "dark" || chosen === "light" ? chosen : system;
  useEffect(() => {
    const follow = (): void => setSystem(dark.matches ? "dark" : "light");
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, []);
  // Not in an effect: what reads colours from the page is rendered after this.
  document.documentElement.setAttribute("data-theme", theme);
  const toggle = (): void => {
    const other = theme === "dark" ? "light" : "dark";
    if (other === system) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, other);
    setChosen(other);
  };
  return { theme, toggle };
}
