import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly problem?: string | undefined;
  readonly isWide?: boolean;
}

/** What a control needs to belong to its label, hint and error. */
interface ControlProps {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: boolean;
}

function Labelled({
  label,
  hint,
  problem,
  isWide = false,
  children,
}: FieldProps & { readonly children: (control: ControlProps) => ComponentChildren }) {
  const id = useId();
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div class={isWide ? "field is-wide" : "field"}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described !== "" && { "aria-describedby": described }),
        ...(problem && { "aria-invalid": true }),
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

export function TextField({
  value,
  onChange,
  isNumber = false,
  isRequired = false,
  placeholder,
  ...props
}: FieldProps & {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isNumber?: boolean;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
}) {
  return (
    <Labelled {...props}>
      {(control) => (
        <input
          {...control}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
          required={isRequired}
          {...(placeholder && { placeholder })}
          {...(isNumber && { inputMode: "numeric" as const })}
        />
      )}
    </Labelled>
  );
}

export function SelectField({
  value,
  options,
  onChange,
  ...props
}: FieldProps & {
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <Labelled {...props}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

export function SliderField({
  value,
  min,
  max,
  step = 1,
  shown,
  onChange,
  ...props
}: FieldProps & {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  /** The value as people read it. */
  readonly shown: string;
  readonly onChange: (value: number) => void;
}) {
  const { label, ...rest } = props;
  return (
    <Labelled label={`${label}: ${shown}`} {...rest}>
      {(control) => (
        <input
          {...control}
          type="range"
          min={min}
          max={max}
          step={step}
          value={value}
          aria-valuetext={shown}
          onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
        />
      )}
    </Labelled>
  );
}
