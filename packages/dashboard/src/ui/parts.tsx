import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import type { Loaded } from "../api/use-loaded.ts";

/** The title of a screen, a sentence about it, and what can be done there. */
export function ScreenHead({
  title,
  children,
  actions,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly actions?: ComponentChildren;
}) {
  return (
    <header class="screen-head">
      <div>
        <h1>{title}</h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div class="actions">{actions}</div>}
    </header>
  );
}

export function Card({
  title,
  note,
  actions,
  isFlush = false,
  children,
}: {
  readonly title?: string;
  readonly note?: ComponentChildren;
  readonly actions?: ComponentChildren;
  /** Without space around the content, as for tables. */
  readonly isFlush?: boolean;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class="card" {...(title !== undefined && { "aria-labelledby": id })}>
      {title !== undefined && (
        <header>
          <div>
            <h2 id={id}>{title}</h2>
            {note && <p>{note}</p>}
          </div>
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      <div class={isFlush ? "card-body is-flush" : "card-body"}>{children}</div>
    </section>
  );
}

export type Tone = "plain" | "good" | "bad" | "warning" | "info";

export function Badge({
  tone = "plain",
  hasDot = false,
  children,
}: {
  readonly tone?: Tone;
  readonly hasDot?: boolean;
  readonly children: ComponentChildren;
}) {
  return <span class={`badge is-${tone}${hasDot ? " has-dot" : ""}`}>{children}</span>;
}

export function Stat({
  label,
  children,
  note,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
  readonly note?: ComponentChildren;
}) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>{children}</dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}

/** What to show where there is nothing to list, and what to do about it. */
export function Empty({
  title,
  children,
  actions,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly actions?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <p>{children}</p>
      {actions && <div class="actions">{actions}</div>}
    </div>
  );
}

export function Note({ tone = "info", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <div class={`note-box is-${tone}`}>{children}</div>;
}

/** Says what failed and what to do. */
export function ProblemNote({
  problem,
  retry,
}: {
  readonly problem: ApiProblem;
  readonly retry?: (() => void) | undefined;
}) {
  return (
    <div class="note-box is-bad" role="alert">
      <strong>{problem.message}</strong>
      <span>{problem.advice}</span>
      {retry && (
        <div class="actions">
          <button type="button" class="button is-small" onClick={retry}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

/** A part of a screen that needs data: a placeholder until it is there, and the error if it cannot be loaded. */
export function WithData<Data>({
  of,
  children,
}: {
  readonly of: Loaded<Data>;
  readonly children: (data: Data) => ComponentChildren;
}) {
  const { data, problem, reload } = of;
  if (data === undefined) {
    return problem === undefined ? <Waiting /> : <ProblemNote problem={problem} retry={reload} />;
  }
  return (
    <>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {children(data)}
    </>
  );
}

export function Waiting() {
  return (
    <div role="status">
      <span class="visually-hidden">Loading</span>
      <div class="skeleton" />
    </div>
  );
}

/** A choice of few, all of them visible. */
export function Segments<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <label key={option}>
          <input
            class="visually-hidden"
            type="radio"
            name={name}
            checked={option === value}
            onChange={() => onChange(option)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
