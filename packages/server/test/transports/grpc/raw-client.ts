import { Client, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { finallyDo } from "../finally-do.ts";

/** Sends any bytes, as no generated client would. */
export function sendBytes(address: string, method: string, bytes: Buffer, metadata: Metadata): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  finallyDo(() => client.close());
  const same = (message: Buffer): Buffer => message;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest<Buffer, Buffer>(
      `/headgate.v1.RateLimiter/${method}`,
      same,
      same,
      bytes,
      metadata,
      (error: ServiceError | null, response?: Buffer) => (response ? resolve(response) : reject(error)),
    );
  });
}
