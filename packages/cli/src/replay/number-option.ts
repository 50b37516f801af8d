import { InvalidInput } from "../failure.ts";

/** A number that an option states, from 0 on. */
export function numberIn(option: string, text: string, most: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= most) return value;
  throw new InvalidInput(`${option}: must be a number from 0 to ${most}, got ${JSON.stringify(text)}`);
}
