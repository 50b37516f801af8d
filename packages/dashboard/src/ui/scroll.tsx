import type { ComponentChildren } from "preact";

/** Content that scrolls by itself if it is too wide or too long, also with the keyboard. */
export function Scroll({
  label,
  isBox = false,
  children,
}: {
  readonly label: string;
  /** With a frame and a limited height, as for code. */
  readonly isBox?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
    // biome-ignore lint/a11y/useSemanticElements: a section would be one more landmark.
    <div role="group" tabIndex={0} aria-label={label} class={isBox ? "scroll is-box" : "scroll"}>
      {children}
    </div>
  );
}
