import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Client, credentials } from "@grpc/grpc-js";

const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/** Calls Envoy's rate limit service on one connection. */
export class RateLimitCaller {
  private readonly client: Client;

  constructor(address: string) {
    this.client = new Client(address, credentials.createInsecure());
  }

  /** One hit of a user. Resolves when it is answered. */
  ask(user: string): Promise<void> {
    const same = (message: Buffer): Buffer => message;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(METHOD, same, same, requestOf(user), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  close(): void {
    this.client.close();
  }
}

/** A RateLimitRequest with one descriptor. */
function requestOf(user: string): Buffer {
  const writer = new BinaryWriter();
  writer.uint32(10).string("bench");
  writer.uint32(18).fork();
  writer.uint32(10).fork();
  writer.uint32(10).string("user");
  writer.uint32(18).string(user);
  writer.join();
  writer.join();
  return Buffer.from(writer.finish());
}
