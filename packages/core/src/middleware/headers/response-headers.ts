import { HeadgateError, shown } from "../../errors.ts";
import type { Decision } from "../../limiter/decision.ts";
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

/** Writes the headers of one form for the deciding decision and, if there are several policies, one for each. */
type Writer = (deciding: Decision, decisions: readonly Decision[] | undefined) => HeaderField[];

/** Each format creates a writer for the policies, once for all responses. */
const FORMS: Readonly<Record<HeaderForm, (policies: readonly Policy[]) => Writer>> = {
  draft(policies) {
    const stated = statement(policies, (timeMs) =>
      listField("RateLimit-Policy", policies.map((policy) => policy.itemAt(timeMs)).join(", ")),
    );
    return (deciding, decisions) => [
      stated(deciding),
      listField("RateLimit", quotaItems(policies, deciding, decisions)),
    ];
  },

  "draft-7"(policies) {
    const stated = quotas(policies);
    return (deciding) => {
      const { limit, remaining, reset } = numbersOf(deciding, retryAfterSeconds(deciding));
      return [stated(deciding), { name: "RateLimit", value: `limit=${limit}, remaining=${remaining}, reset=${reset}` }];
    };
  },

  "draft-6"(policies) {
    const stated = quotas(policies);
    return (deciding) => [stated(deciding), ...three("RateLimit", numbersOf(deciding, retryAfterSeconds(deciding)))];
  },

  "legacy-seconds": () => (deciding) => three("X-RateLimit", numbersOf(deciding, retryAfterSeconds(deciding))),

  "legacy-epoch": () => (deciding) => {
    const retryAfter = retryAfterSeconds(deciding);
    const at = retryAfter === undefined ? deciding.resetAtMs : deciding.retryAtMs;
    return three("X-RateLimit", { ...numbersOf(deciding, retryAfter), reset: seconds(at) });
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
  const clash = [DRAFTS, LEGACY].some((same) => known.filter((form) => same.includes(form)).length > 1);
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

const STATE = "Headgate-State";

/**
 * Writes the headers of a response in the given forms, `Retry-After` where a denial has one, and `Headgate-State` with
 * the policies that are not normal, as in `warning;policy="api"`. The draft has no such header.
 */
export class HeaderWriter {
  private readonly policies: readonly Policy[];
  private readonly first: Writer;
  private readonly others: readonly Writer[];

  constructor(forms: readonly HeaderForm[], policies: readonly Policy[]) {
    this.policies = policies;
    [this.first = () => [], ...this.others] = forms.map((form) => FORMS[form](policies));
  }

  /** `decisions` are those of a verdict, in the order of the policies. */
  write(deciding: Decision, decisions?: readonly Decision[]): HeaderField[] {
    const fields = this.first(deciding, decisions);
    for (const writer of this.others) fields.push(...writer(deciding, decisions));
    const retryAfter = retryAfterSeconds(deciding);
    if (retryAfter !== undefined) fields.push({ name: "Retry-After", value: String(retryAfter) });
    const states = decisions === undefined ? this.state(deciding, 0) : this.states(decisions);
    if (states !== "") fields.push(listField(STATE, states));
    return fields;
  }

  private states(decisions: readonly Decision[]): string {
    const states = decisions.map((decision, i) => this.state(decision, i));
    return states.filter((state) => state !== "").join(", ");
  }

  private state({ state }: Decision, i: number): string {
    return state === "normal" ? "" : `${state};policy=${this.policies[i].quoted}`;
  }
}

function listField(name: string, value: string): HeaderField {
  return { name, value, list: true };
}

/** Whole seconds until the denied request would pass, the longest of its limits; nothing if it passed or never can. */
function retryAfterSeconds({ allowed, retryAfterMs }: Decision): number | undefined {
  return allowed || retryAfterMs === Number.POSITIVE_INFINITY ? undefined : seconds(retryAfterMs);
}

function quotaItems(
  policies: readonly Policy[],
  deciding: Decision,
  decisions: readonly Decision[] | undefined,
): string {
  const retryAfter = retryAfterSeconds(deciding);
  if (decisions === undefined) return quotaItem(policies[0], deciding, retryAfter);
  return decisions.map((decision, i) => quotaItem(policies[i], decision, retryAfter)).join(", ");
}

function quotaItem({ remainingStart, isSlots }: Policy, decision: Decision, retryAfter: number | undefined): string {
  const remaining = `${remainingStart}${units(decision.remaining)}`;
  // It is unknown when slots will be released.
  return isSlots && decision.allowed ? remaining : `${remaining};t=${resetSeconds(decision, retryAfter)}`;
}

type Statement = (deciding: Decision) => HeaderField;

function quotas(policies: readonly Policy[]): Statement {
  return statement(policies, (timeMs) => ({
    name: "RateLimit-Policy",
    value: policies.map((policy) => policy.quotaItemAt(timeMs)).join(", "),
  }));
}

/** What `fieldAt` makes of the policies: once for all responses, unless windows differ in length. */
function statement(policies: readonly Policy[], fieldAt: (timeMs: number) => HeaderField): Statement {
  if (!policies.every(({ isConstant }) => isConstant)) return ({ timeMs }) => fieldAt(timeMs);
  const field = fieldAt(0);
  return () => field;
}

interface Numbers {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

function numbersOf(decision: Decision, retryAfter: number | undefined): Numbers {
  const { limit, remaining } = decision;
  return { limit: units(limit), remaining: units(remaining), reset: resetSeconds(decision, retryAfter) };
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
function resetSeconds(decision: Decision, retryAfter: number | undefined): number {
  const own = retryAfterSeconds(decision);
  if (own !== undefined) return own;
  const reset = seconds(decision.resetAfterMs);
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
