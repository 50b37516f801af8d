import { type AlgorithmName, algorithms } from "headgate";

type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type AllFields = Merged<(typeof algorithms)[AlgorithmName]["fields"]>;

type LimitFieldName = {
  [Name in keyof AllFields]: AllFields[Name] extends { readonly replacesRate: true } ? never : Name;
}[keyof AllFields];

type ValueOf<Type> = Type extends "boolean"
  ? boolean
  : Type extends "text"
    ? string
    : Type extends readonly (infer Word)[]
      ? Word
      : number;

/** The fields of a rule that only some algorithms have; null: the default. */
export type LimitFieldValues = {
  readonly [Name in LimitFieldName]: ValueOf<AllFields[Name]["type"]> | null;
};

interface LimitField {
  readonly name: LimitFieldName;
  readonly type: "units" | "number" | "seconds" | "boolean" | "text" | "day" | readonly string[];
  readonly about: string;
  /** The algorithms that have it. */
  readonly of: readonly AlgorithmName[];
}

/**
 * The fields as the algorithms describe them. A rule states its rate only as `limit` and
 * `window_seconds` or `calendar`.
 */
export const limitFields: readonly LimitField[] = [...new Set(fieldsOfAll().map(([name]) => name))].map((name) => {
  const those = fieldsOfAll().filter(([other]) => other === name);
  return { ...those[0][1], name, of: those.map(([, , algorithm]) => algorithm) };
});

function fieldsOfAll() {
  return Object.values(algorithms).flatMap(({ name: algorithm, fields }) =>
    Object.entries(fields)
      .filter(([, field]) => !("replacesRate" in field))
      .map(([name, field]) => [name as LimitFieldName, field, algorithm] as const),
  );
}
