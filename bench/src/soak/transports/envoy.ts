import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { fixedWindow } from "headgate";
import { sameBytes } from "../../service/grpc-requests.ts";
import { soakRules, WINDOW_SECONDS } from "../rules.ts";
import type { SoakCheck, SoakDecision, SoakTransport } from "../transports.ts";
import { RECONNECTING } from "./grpc.ts";

const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const DOMAIN = "soak";
const OK = 1;
const DEADLINE_MS = 120_000;
/** An answer says how long the window lasts from when it is given. After this time, that may be another window. */
const LATE_MS = 1_000;

/** Envoy's rate limit service, whose limits are stated by descriptors: here `<rule id>=<identifier>`. */
export const envoy: SoakTransport = {
  name: "envoy",
  hasIdempotencyKeys: false,
  countsApart: true,
  flags(folder) {
    const descriptors = soakRules.map(({ id: key, limit, onError, consistency }) => ({
      key,
      rate_limit: {
        requests_per_unit: limit,
        window_seconds: WINDOW_SECONDS,
        algorithm: fixedWindow("1/s").algorithm,
        on_error: onError,
        consistency,
        charge: "if_it_fits",
      },
    }));
    writeFileSync(join(folder, "soak.yaml"), JSON.stringify({ domain: DOMAIN, descriptors }));
    return ["--envoy", "127.0.0.1:0", "--envoy-config", folder];
  },
  connect(node) {
    const { envoy: address } = node.log.find(({ msg }) => msg === "ready") ?? {};
    const [, hostAndPort = ""] = /([\d.]+:\d+)$/.exec(String(address)) ?? [];
    const client = new Client(hostAndPort, credentials.createInsecure(), RECONNECTING);
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${node.key}`);
    return {
      check: (check) =>
        new Promise((resolve, reject) => {
          const sentAt = performance.now();
          const options = { deadline: Date.now() + DEADLINE_MS };
          const decide = (error: Error | null, reply?: Buffer): void => {
            if (error !== null || reply === undefined) {
              reject(error);
              return;
            }
            const decision = decisionOf(reply);
            const isLate = performance.now() - sentAt > LATE_MS;
            resolve(isLate ? { ...decision, resetAtMs: undefined } : decision);
          };
          client.makeUnaryRequest(METHOD, sameBytes, sameBytes, requestOf(check), metadata, options, decide);
        }),
      close: () => client.close(),
    };
  },
};

/** A RateLimitRequest with one descriptor. */
function requestOf({ identifier, endpoint, cost }: SoakCheck): Buffer {
  const rule = soakRules.find((each) => each.endpoint === endpoint);
  const writer = new BinaryWriter();
  writer.uint32(10).string(DOMAIN);
  writer.uint32(18).fork();
  writer.uint32(10).fork();
  writer.uint32(10).string(rule?.id ?? "");
  writer.uint32(18).string(identifier);
  writer.join();
  writer.join();
  writer.uint32(24).uint32(cost);
  return Buffer.from(writer.finish());
}

/** Reads a RateLimitResponse with one status. */
function decisionOf(bytes: Buffer): SoakDecision {
  let [code, remaining, seconds, nanoseconds] = [0, 0, 0, 0];
  fields(bytes, (field, reader) => {
    if (field === 1) code = reader.int32();
    else if (field !== 2) return false;
    else
      fields(reader.bytes(), (field, reader) => {
        if (field === 3) remaining = reader.uint32();
        else if (field !== 4) return false;
        else
          fields(reader.bytes(), (field, reader) => {
            if (field === 1) seconds = Number(reader.int64());
            else if (field === 2) nanoseconds = reader.int32();
            return field <= 2;
          });
        return true;
      });
    return true;
  });
  const resetAtMs = Date.now() + seconds * 1_000 + nanoseconds / 1_000_000;
  return { allowed: code === OK, remaining, resetAtMs, degraded: undefined };
}

/** `read` returns false if it does not know the field. */
function fields(bytes: Uint8Array, read: (field: number, reader: BinaryReader) => boolean): void {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (!read(field, reader)) reader.skip(type);
  }
}
