import { HeadgateError, shown } from "../../errors.ts";
import type { Policy } from "./policy.ts";
import { LARGEST_INTEGER } from "./structured-field.ts";

/** A header of a response. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Whether it is a list to append to what other middleware has set; otherwise it replaces the header. */
  readonly list?: true;
}

/**
 * Format of the rate limit headers:
 * - `draft`: the current IETF draft (11), `RateLimit-Policy` and `RateLimit` with an entry for each rule.
 * - `draft-7`, `draft-6`: older drafts, which describe only the limit that decided.
 * - `legacy-seconds`, `legacy-epoch`: `X-RateLimit-*`, with the reset in seconds from now or as a Unix time.
 */
export type HeaderForm = "draft" | "draft-7" | "draft-6" | "legacy-seconds" | "legacy-epoch";

/** What a decision or a verdict reports about one limit. */
export interface LimitState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  /** The same as Unix times, by the store's clock. */
  readonly retryAtMs: number;
  readonly resetAtMs: number;
}

/** A decision, or a verdict with its decisions in the order of the policies. */
export interface Decided extends LimitState {
  readonly decisions?: readonly LimitState[];
}

/** Writes the headers of one format. The policies are in the order of the decisions. */
type Writer = (decided: Decided) => HeaderField[];

/** Each format creates a writer for the policies, once for all responses. */
const FORMS: Readonly<Record<HeaderForm, (policies: readonly Policy[]) => Writer>> = {
  draft(policies) {
    const stated = listField("RateLimit-Policy", policies.map(({ item }) => item).join(", "));
    return (decided) => [stated, listField("RateLimit", limitItems(policies, decided))];
  },

  "draft-7"(policies) {
    const stated = quotas(policies);
    return (decided) => {
      const { limit, remaining, reset } = numbersOf(decided, retryAfterSeconds(decided));
      return [stated, { name: "RateLimit", value: `limit=${limit}, remaining=${remaining}, reset=${reset}` }];
    };
  },

  "draft-6"(policies) {
    const stated = quotas(policies);
    return (decided) => [stated, ...three("RateLimit", numbersOf(decided, retryAfterSeconds(decided)))];
  },

  "legacy-seconds": () => (decided) => three("X-RateLimit", numbersOf(decided, retryAfterSeconds(decided))),

  "legacy-epoch": () => (decided) => {
    const retryAfter = retryAfterSeconds(decided);
    const at = retryAfter === undefined ? decided.resetAtMs : decided.retryAtMs;
    return three("X-RateLimit", { ...numbersOf(decided, retryAfter), reset: seconds(at) });
  },
};

/** These use the same headers, so only one of them can be enabled. */
const DRAFTS: readonly HeaderForm[] = ["draft", "draft-7", "draft-6"];
const LEGACY: readonly HeaderForm[] = ["legacy-seconds", "legacy-epoch"];

/** Reads the option `headers`: one format, several with different headers, or false for none. */
export function requireForms(headers: unknown, field = "headers"): readonly HeaderForm[] {
  if (headers === undefined) return ["draft"];
  if (headers === false) return [];
  const forms: readonly unknown[] = Array.isArray(headers) ? headers : [headers];
  const known = forms.filter(isForm);
  const clash = [DRAFTS, LEGACY].some((family) => known.filter((form) => family.includes(form)).length > 1);
  if (known.length < forms.length || clash) {
    const problem = clash
      ? `has two formats that use the same headers: give one of ${DRAFTS.join(", ")} and one of ${LEGACY.join(", ")} at most`
      : `must be false or one of ${Object.keys(FORMS).join(", ")}, got ${shownForm(forms.find((form) => !isForm(form)))}`;
    throw new HeadgateError("HG_BAD_OPTION", field, problem);
  }
  return known;
}

/** Later draft numbers all mean the current format. */
function shownForm(form: unknown): string {
  const isNewer = typeof form === "string" && /^draft-([89]|\d\d)$/.test(form);
  return isNewer ? `${shown(form)}: use "draft", the current one` : shown(form);
}

function isForm(form: unknown): form is HeaderForm {
  return typeof form === "string" && Object.hasOwn(FORMS, form);
}

/** Writes the headers of a response in the given formats, and `Retry-After` for a denial. */
export class HeaderWriter {
  private readonly first: Writer;
  private readonly others: readonly Writer[];

  constructor(forms: readonly HeaderForm[], policies: readonly Policy[]) {
    [this.first = () => [], ...this.others] = forms.map((form) => FORMS[form](policies));
  }

  write(decided: Decided): HeaderField[] {
    const fields = this.first(decided);
    for (const writer of this.others) fields.push(...writer(decided));
    const retryAfter = retryAfterSeconds(decided);
    if (retryAfter !== undefined) fields.push({ name: "Retry-After", value: String(retryAfter) });
    return fields;
  }
}

export function listField(name: string, value: string): HeaderField {
  return { name, value, list: true };
}

/** Whole seconds until a denied request would be admitted; undefined if it was admitted or never can be. */
function retryAfterSeconds({ allowed, retryAfterMs }: LimitState): number | undefined {
  return allowed || retryAfterMs === Number.POSITIVE_INFINITY ? undefined : seconds(retryAfterMs);
}

function limitItems(policies: readonly Policy[], decided: Decided): string {
  const retryAfter = retryAfterSeconds(decided);
  const { decisions } = decided;
  if (decisions === undefined) return limitItem(policies[0], decided, retryAfter);
  let items = limitItem(policies[0], decisions[0], retryAfter);
  for (let i = 1; i < decisions.length; i += 1) items += `, ${limitItem(policies[i], decisions[i], retryAfter)}`;
  return items;
}

function limitItem({ remainingStart }: Policy, decision: LimitState, retryAfter: number | undefined): string {
  return `${remainingStart}${units(decision.remaining)};t=${resetSeconds(decision, retryAfter)}`;
}

function quotas(policies: readonly Policy[]): HeaderField {
  return { name: "RateLimit-Policy", value: policies.map(({ quotaItem }) => quotaItem).join(", ") };
}

interface Numbers {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

function numbersOf(state: LimitState, retryAfter: number | undefined): Numbers {
  const { limit, remaining } = state;
  return { limit: units(limit), remaining: units(remaining), reset: resetSeconds(state, retryAfter) };
}

function three(prefix: string, { limit, remaining, reset }: Numbers): HeaderField[] {
  return [
    { name: `${prefix}-Limit`, value: String(limit) },
    { name: `${prefix}-Remaining`, value: String(remaining) },
    { name: `${prefix}-Reset`, value: String(reset) },
  ];
}

/**
 * Seconds until the quota is full again or, after a denial, until the request would be admitted. Never later than
 * `Retry-After`, so that the two do not contradict each other.
 */
function resetSeconds(state: LimitState, retryAfter: number | undefined): number {
  const own = retryAfterSeconds(state);
  if (own !== undefined) return own;
  const reset = seconds(state.resetAfterMs);
  return retryAfter !== undefined && retryAfter < reset ? retryAfter : reset;
}

/** Whole units that can still be used. */
function units(value: number): number {
  return value < LARGEST_INTEGER ? Math.floor(value) : LARGEST_INTEGER;
}

/** Rounded up, because a request sent at the reported time must be admitted. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
