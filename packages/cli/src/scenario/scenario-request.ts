import { InvalidInput } from "../failure.ts";

/** One request of a scenario. The limiter validates the range of its time and cost. */
export interface Request {
  readonly user: string;
  readonly time: number;
  readonly cost?: number;
}

const FIELDS = ["user", "time", "cost"];

/** Reads the request at an index of `requests`. */
export function readRequest(value: unknown, index: number): Request {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidInput(`requests[${index}]: must be an object`);
  }
  for (const name of Object.keys(value)) {
    if (!FIELDS.includes(name)) {
      throw new InvalidInput(`requests[${index}].${name}: is not a field of a request (known: ${FIELDS.join(", ")})`);
    }
  }
  const { user, time } = value as { user?: unknown; time?: unknown };
  if (typeof user !== "string" || user === "") {
    throw new InvalidInput(`requests[${index}].user: must be a non-empty string`);
  }
  if (typeof time !== "number") throw new InvalidInput(`requests[${index}].time: must be a number of seconds`);
  return value as Request;
}
