import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { GrpcLine, grpcRequest } from "./grpc-line.ts";
import { AMPLE_LIMIT, type Protocol, SCARCE_LIMIT } from "./line.ts";
import { slices } from "./slices.ts";

const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const DOMAIN = "bench";
const OK = 1;
const OVER_LIMIT = 2;

/** What the limits are in the files of envoyproxy/ratelimit. */
export const ENVOY_CONFIG = `
domain: ${DOMAIN}
descriptors:
  - key: ample
    rate_limit: { unit: day, requests_per_unit: ${AMPLE_LIMIT} }
  - key: scarce
    rate_limit: { unit: day, requests_per_unit: ${SCARCE_LIMIT} }
`;

/** Envoy's rate limit protocol, with at most so many descriptors in a request. */
export function envoyProtocol(mostDescriptors: number): Protocol {
  return {
    connect: (port, failed) => GrpcLine.connect(port, isOk, failed),
    ample: (user) => requestOf("ample", [user]),
    scarce: (user) => requestOf("scarce", [user]),
    scarceOfAll: (users) => slices(users, mostDescriptors).map((some) => requestOf("scarce", some)),
  };
}

/** A RateLimitRequest with a descriptor for each user. */
function requestOf(key: string, users: readonly string[]): Buffer {
  const writer = new BinaryWriter();
  writer.uint32(10).string(DOMAIN);
  for (const user of users) {
    writer.uint32(18).fork();
    writer.uint32(10).fork();
    writer.uint32(10).string(key);
    writer.uint32(18).string(user);
    writer.join();
    writer.join();
  }
  return grpcRequest(METHOD, writer.finish());
}

/** Servers write the overall code first. */
function isOk(answer: Buffer): boolean {
  const [field, code] = answer;
  if (field !== 0x08 || (code !== OK && code !== OVER_LIMIT)) throw new Error(`answered ${answer.toString("hex")}`);
  return code === OK;
}
