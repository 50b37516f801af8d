import { readFileSync } from "node:fs";
import type { Server } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { decode, nextTag, skip } from "./message-codec.ts";

/** The descriptors built by `buf build`; the path is the same from `src` and `dist`. */
const DESCRIPTORS = new URL("../../../proto/headgate/v1/rate_limiter.binpb", import.meta.url);
const FILE_TAG = 10;

/** Lets clients such as grpcurl discover the service. */
export function addReflection(server: Server): void {
  const fileDescriptorProtos = filesIn(readFileSync(DESCRIPTORS));
  // Any type leads to its file, and that to the whole service.
  const type = { format: "Protocol Buffer 3 EnumDescriptorProto", type: {}, fileDescriptorProtos } as const;
  new ReflectionService({ "headgate.v1.Dimension": type }).addToServer(server);
}

/** The files of a google.protobuf.FileDescriptorSet. */
function filesIn(set: Buffer): Buffer[] {
  return decode((reader) => {
    const files: Buffer[] = [];
    for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
      if (tag === FILE_TAG) files.push(Buffer.from(reader.bytes()));
      else skip(reader, tag);
    }
    return files;
  }, set);
}
