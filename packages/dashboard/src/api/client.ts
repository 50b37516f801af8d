import { ApiProblem, problemIn } from "./problem.ts";
import type { Session } from "./types.ts";

/** A request that takes longer is reported as failed. */
const TIMEOUT_MS = 20_000;

interface ApiOptions {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

interface ApiAnswer<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

/** The REST API, as the session in the cookie may use it. */
class ApiClient {
  #csrfToken = "";
  /** Called when the service no longer accepts the session. */
  onSessionLost: () => void = () => {};

  adopt(session: Session | null): void {
    this.#csrfToken = session?.csrf_token ?? "";
  }

  /** For requests that are sent and shown as they are. */
  get csrfToken(): string {
    return this.#csrfToken;
  }

  async get<Body>(path: string, signal?: AbortSignal): Promise<Body> {
    return (await this.send<Body>(path, signal === undefined ? {} : { signal })).body;
  }

  async send<Body>(
    path: string,
    { method = "GET", body, headers = {}, signal }: ApiOptions = {},
  ): Promise<ApiAnswer<Body>> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(path, {
      method,
      headers: {
        accept: "application/json",
        ...(method !== "GET" && { "x-csrf-token": this.#csrfToken }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw unreachable(timeout.aborted);
    });
    const content = await contentOf(response);
    if (response.ok) return { body: content as Body, headers: response.headers };
    const problem = problemIn(response.status, content);
    if (response.status === 401 && path !== "/api/v1/session") this.onSessionLost();
    throw problem;
  }
}

export const api = new ApiClient();

async function contentOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreachable(isLate: boolean): ApiProblem {
  return isLate
    ? new ApiProblem(0, "network", "The service did not respond in time.", "Check its load, then try again.")
    : new ApiProblem(0, "network", "The service cannot be reached.", "Check the connection, then try again.");
}
