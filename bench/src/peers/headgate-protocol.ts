import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { KEY } from "../service/rest-requests.ts";
import { GrpcLine, grpcRequest } from "./grpc-line.ts";
import { AMPLE_LIMIT, DAY_SECONDS, type Protocol, SCARCE_LIMIT, usersOf } from "./line.ts";
import { slices } from "./slices.ts";

const CHECK = "/headgate.v1.RateLimiter/CheckRateLimit";
const CHECK_BATCH = "/headgate.v1.RateLimiter/CheckRateLimitBatch";
const AUTHORIZATION = `Bearer ${KEY}`;
/** It accepts 1,000, but the data of all requests under way has to fit the window of HTTP/2. */
const MOST_CHECKS = 50;
const USER = 1;

/** The rules that the checks need. */
export const HEADGATE_RULES = [rule("ample", AMPLE_LIMIT), rule("scarce", SCARCE_LIMIT)] as const;

function rule(name: string, limit: number) {
  const endpoint_pattern = `/${name}`;
  return { rule_id: name, name, dimension: "user", endpoint_pattern, limit, window_seconds: DAY_SECONDS };
}

/** Headgate's own gRPC protocol. Every call is authenticated. */
export const headgateProtocol: Protocol = {
  connect: (port, failed) => GrpcLine.connect(port, isAllowed, failed),
  ample: (user) => grpcRequest(CHECK, checkOf("/ample", user), AUTHORIZATION),
  scarce: (user) => grpcRequest(CHECK, checkOf("/scarce", user), AUTHORIZATION),
  scarceOfAll: (users) => slices(users, MOST_CHECKS).map((some) => batchOf("/scarce", some)),
};

/** The same, with many checks in each request. */
export function headgateBatches(batch: number): Protocol {
  return { ...headgateProtocol, batch, ample: (user) => batchOf("/ample", usersOf(user, batch)) };
}

/** A CheckRateLimitRequest. */
function checkOf(endpoint: string, user: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.uint32(10).string(user);
  writer.uint32(16).int32(USER);
  writer.uint32(26).string(endpoint);
  return writer.finish();
}

function batchOf(endpoint: string, users: readonly string[]): Buffer {
  const writer = new BinaryWriter();
  for (const user of users) writer.uint32(10).bytes(checkOf(endpoint, user));
  return grpcRequest(CHECK_BATCH, writer.finish(), AUTHORIZATION);
}

/** Of a CheckRateLimitResponse, or the first one in a batch: `allowed` is the first field, and absent if false. */
function isAllowed(answer: Buffer): boolean {
  const reader = new BinaryReader(answer);
  const [field, type] = reader.tag();
  if (field === 1 && type === 2) return isAllowed(Buffer.from(reader.bytes()));
  return field === 1 && reader.bool();
}
