import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { GrpcLine, grpcRequest } from "./grpc-line.ts";
import { AMPLE_LIMIT, DAY_SECONDS, type Protocol, SCARCE_LIMIT, usersOf } from "./line.ts";
import { slices } from "./slices.ts";

const METHOD = "/pb.gubernator.V1/GetRateLimits";
/** It accepts 1,000, but the data of all requests under way has to fit the window of HTTP/2. */
const MOST_CHECKS = 50;
const LIMITS = { ample: AMPLE_LIMIT, scarce: SCARCE_LIMIT } as const;
const UNDER_LIMIT = 0;

/** The protocol of gubernator, in which a check brings its limit along. */
export const gubernatorProtocol: Protocol = {
  connect: (port, failed) => GrpcLine.connect(port, isUnderLimit, failed),
  ample: (user) => requestOf("ample", [user]),
  scarce: (user) => requestOf("scarce", [user]),
  scarceOfAll: (users) => slices(users, MOST_CHECKS).map((some) => requestOf("scarce", some)),
};

/** The same, with many checks in each request, as its clients send them. */
export function gubernatorBatches(batch: number): Protocol {
  return { ...gubernatorProtocol, batch, ample: (user) => requestOf("ample", usersOf(user, batch)) };
}

/** A GetRateLimitsReq: token buckets, one hit each. */
function requestOf(name: keyof typeof LIMITS, users: readonly string[]): Buffer {
  const writer = new BinaryWriter();
  for (const user of users) {
    writer.uint32(10).fork();
    writer.uint32(10).string(name);
    writer.uint32(18).string(user);
    writer.uint32(24).int64(1);
    writer.uint32(32).int64(LIMITS[name]);
    writer.uint32(40).int64(1000 * DAY_SECONDS);
    writer.join();
  }
  return grpcRequest(METHOD, writer.finish());
}

/** Whether the first response of a GetRateLimitsResp has the status UNDER_LIMIT, which is the default. */
function isUnderLimit(answer: Buffer): boolean {
  const reader = new BinaryReader(answer);
  reader.tag();
  const end = reader.uint32() + reader.pos;
  let status = UNDER_LIMIT;
  while (reader.pos < end) {
    const [field, type] = reader.tag();
    if (field === 1) status = reader.int32();
    else if (field === 5) throw new Error(`answered ${reader.string()}`);
    else reader.skip(type);
  }
  return status === UNDER_LIMIT;
}
