import { setTimeout as delay } from "node:timers/promises";
import { type RuleInput, rulesOfService, type UserInput } from "headgate-server";
import { InvalidInput } from "../failure.ts";

export interface ServiceOptions {
  readonly url?: string;
  readonly key?: string;
}

export interface Replaced {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
}

const DEFAULT_URL = "http://127.0.0.1:8080";
const DEADLINE_MS = 60_000;
const PAGE = 1_000;

/** Longest time to wait for the service's own rate limit, in seconds. */
const LONGEST_WAIT_S = 120;

export interface Imported {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly warnings?: readonly FieldProblem[];
}

interface StoredUser {
  readonly user_id: string;
  readonly tier: string | null;
  readonly custom_limits: object;
}

export interface StoredReservation {
  readonly reservation_id: string;
  readonly owner: string | null;
  readonly made_at_ms: number;
  readonly expires_at_ms: number;
  readonly reserved: readonly StoredQuota[];
}

interface StoredQuota {
  readonly rule_id: string;
  readonly dimension: string;
  readonly identifier: string;
  readonly cost: number;
  readonly slots: boolean;
}

interface FieldProblem {
  readonly field: string;
  readonly problem: string;
}

/** The service rejected these fields of a request. */
export class RejectedFields extends InvalidInput {
  readonly fields: readonly FieldProblem[];

  constructor(message: string, fields: readonly FieldProblem[]) {
    super(message);
    this.fields = fields;
  }
}

class RateLimited extends InvalidInput {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Client for the rules, users, API keys and reservations of a running service. Never includes the API key in messages. */
export class Service {
  private readonly base: URL;
  private readonly authorization: string;

  constructor({ url = DEFAULT_URL, key }: ServiceOptions) {
    this.base = readUrl(url);
    this.authorization = `Bearer ${readKey(key)}`;
  }

  async rules(): Promise<readonly RuleInput[]> {
    const found: unknown[] = [];
    let cursor: unknown;
    do {
      const query = new URLSearchParams({ limit: String(PAGE), ...(typeof cursor === "string" && { cursor }) });
      const page = await this.ask("GET", `rules?${query}`);
      if (!("rules" in page) || !Array.isArray(page.rules)) throw this.unknownAnswer();
      found.push(...page.rules);
      cursor = "next" in page && page.rules.length > 0 ? page.next : undefined;
    } while (typeof cursor === "string");
    try {
      return await rulesOfService(found);
    } catch (error) {
      throw this.unknownAnswer(error);
    }
  }

  async replaceRules(rules: readonly RuleInput[]): Promise<Replaced> {
    const answer = await this.ask("PUT", "rules", { rules });
    if (!isReplaced(answer)) throw this.unknownAnswer();
    return answer;
  }

  /** Pages of users, optionally only those of one tier. */
  async *users(tier?: string): AsyncIterable<readonly StoredUser[]> {
    let cursor: unknown;
    do {
      const query = new URLSearchParams({
        limit: String(PAGE),
        ...(tier !== undefined && { tier }),
        ...(typeof cursor === "string" && { cursor }),
      });
      const page = await this.requestPatiently("GET", `users?${query}`);
      if (!("users" in page) || !Array.isArray(page.users) || !page.users.every(isUser)) throw this.unknownAnswer();
      yield page.users;
      cursor = "next" in page ? page.next : undefined;
    } while (typeof cursor === "string");
  }

  /** Throws RejectedFields if the service names the invalid fields. */
  async importUsers(users: readonly UserInput[]): Promise<Imported> {
    const answer = await this.requestPatiently("POST", "users", { users });
    if (!isImported(answer)) throw this.unknownAnswer();
    return answer;
  }

  /** Creates a key, and returns it with its secret. */
  createKey(key: object): Promise<object> {
    return this.ask("POST", "keys", key);
  }

  async keys(): Promise<readonly object[]> {
    const answer = await this.ask("GET", "keys");
    if (!("keys" in answer) || !Array.isArray(answer.keys)) throw this.unknownAnswer();
    return answer.keys;
  }

  revokeKey(id: string): Promise<object> {
    return this.ask("DELETE", `keys/${encodeURIComponent(id)}`);
  }

  async reservations(): Promise<readonly StoredReservation[]> {
    const answer = await this.ask("GET", "reservations");
    const found = "reservations" in answer ? answer.reservations : undefined;
    if (!Array.isArray(found) || !found.every(isReservation)) throw this.unknownAnswer();
    return found;
  }

  async releaseReservation(id: string): Promise<void> {
    await this.ask("DELETE", `reservations/${encodeURIComponent(id)}`);
  }

  /** Sends a request, and waits and retries when the service limits the request rate. */
  private async requestPatiently(method: string, path: string, body?: unknown): Promise<object> {
    for (;;) {
      try {
        return await this.ask(method, path, body);
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error;
        await delay(error.retryAfterMs);
      }
    }
  }

  private async ask(method: string, path: string, body?: unknown): Promise<object> {
    const response = await this.fetch(new URL(`api/v1/${path}`, this.base), {
      method,
      // Following a redirect would send the API key to another server.
      redirect: "error",
      headers: { authorization: this.authorization, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    if (response.status === 204) return {};
    const answer = await response.json().catch(() => undefined);
    if (!response.ok) {
      const message = `${this.base.href}: ${response.status} ${problemIn(answer)}`.trimEnd();
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      if (response.status === 429 && seconds >= 0 && seconds <= LONGEST_WAIT_S) {
        throw new RateLimited(message, seconds * 1000);
      }
      const fields = fieldsIn(answer);
      throw fields.length === 0 ? new InvalidInput(message) : new RejectedFields(message, fields);
    }
    if (typeof answer !== "object" || answer === null) throw this.unknownAnswer();
    return answer;
  }

  private async fetch(url: URL, init: RequestInit): Promise<Response> {
    try {
      return await fetch(url, init);
    } catch (error) {
      throw new InvalidInput(
        `${this.base.href}: cannot be reached (${reasonOf(error)}): is the service running there?`,
      );
    }
  }

  private unknownAnswer(cause?: unknown): InvalidInput {
    return new InvalidInput(`${this.base.href}: does not respond like a Headgate service`, { cause });
  }
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new InvalidInput("--url: must be a URL such as http://127.0.0.1:8080, without user name and password");
  }
  // Without a trailing slash, the last path segment would be dropped when resolving.
  return new URL(`${url.origin}${url.pathname.replace(/\/?$/, "/")}`);
}

function readKey(option: string | undefined): string {
  const { HEADGATE_KEY } = process.env;
  const key = option ?? HEADGATE_KEY;
  if (key === undefined) throw new InvalidInput("--key: is required (or HEADGATE_KEY in the environment)");
  // fetch would quote an invalid header value, and so the key, in its error.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new InvalidInput("--key: must be an API key of the service, hg_… (the value is not shown here)");
  return key;
}

/** The message in an RFC 9457 problem body, as far as there is one. */
function problemIn(answer: unknown): string {
  if (typeof answer !== "object" || answer === null) return "";
  const { title, detail } = answer as Readonly<Record<string, unknown>>;
  const fields = fieldsIn(answer).map(({ field, problem }) => `${field}: ${problem}`);
  return [title, detail, ...fields].filter((part) => typeof part === "string").join("; ");
}

function reasonOf(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : {};
  if (cause instanceof Error) return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
  return String(cause);
}

function isReplaced(answer: object): answer is Replaced {
  const { created, updated, removed, unchanged } = answer as Readonly<Record<string, unknown>>;
  return [created, updated, removed].every(Array.isArray) && typeof unchanged === "number";
}

function fieldsIn(answer: unknown): readonly FieldProblem[] {
  if (typeof answer !== "object" || answer === null || !("errors" in answer) || !Array.isArray(answer.errors))
    return [];
  return answer.errors.filter(isFieldProblem);
}

function isFieldProblem(value: unknown): value is FieldProblem {
  if (typeof value !== "object" || value === null) return false;
  const { field, problem } = value as Readonly<Record<string, unknown>>;
  return typeof field === "string" && typeof problem === "string";
}

function isImported(answer: object): answer is Imported {
  const { created, updated, unchanged, warnings = [] } = answer as Readonly<Record<string, unknown>>;
  const areCounts = [created, updated, unchanged].every((count) => typeof count === "number");
  return areCounts && Array.isArray(warnings) && warnings.every(isFieldProblem);
}

function isUser(value: unknown): value is StoredUser {
  if (typeof value !== "object" || value === null) return false;
  const { user_id, tier, custom_limits } = value as Readonly<Record<string, unknown>>;
  const hasTier = tier === null || typeof tier === "string";
  return typeof user_id === "string" && hasTier && typeof custom_limits === "object" && custom_limits !== null;
}

function isReservation(value: unknown): value is StoredReservation {
  if (typeof value !== "object" || value === null) return false;
  const { reservation_id, owner, made_at_ms, expires_at_ms, reserved } = value as Readonly<Record<string, unknown>>;
  const hasOwner = owner === null || typeof owner === "string";
  const hasTimes = typeof made_at_ms === "number" && typeof expires_at_ms === "number";
  return typeof reservation_id === "string" && hasOwner && hasTimes && isQuotas(reserved);
}

function isQuotas(value: unknown): value is readonly StoredQuota[] {
  return (
    Array.isArray(value) &&
    value.every((quota: unknown) => {
      if (typeof quota !== "object" || quota === null) return false;
      const { rule_id, dimension, identifier, cost, slots } = quota as Readonly<Record<string, unknown>>;
      const hasNames = [rule_id, dimension, identifier].every((name) => typeof name === "string");
      return hasNames && typeof cost === "number" && typeof slots === "boolean";
    })
  );
}
