import type { RequestAdapter } from "../../src/middleware/request-adapter.ts";

/** A request of no framework. */
export interface TestRequest {
  readonly peer?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly cost?: number;
}

export const testAdapter: RequestAdapter<TestRequest> = {
  peer: ({ peer }) => peer,
  header: ({ headers }, name) => headers?.[name],
  user: ({ user }) => user,
};
