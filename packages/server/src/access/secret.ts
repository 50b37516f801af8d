import { createHash, randomBytes } from "node:crypto";
import type { ApiKeyRecord, Role } from "./api-key.ts";

/** 256 bits, encoded in 43 characters. */
const SECRET_BYTES = 32;
const KEY_ID_BYTES = 8;

/** A new key with its secret, which is not stored. */
export interface NewKey {
  readonly record: ApiKeyRecord;
  /** `hg_<key_id>_<43 url-safe characters>`, to be shown once. */
  readonly secret: string;
}

interface KeyOptions {
  /** Default: never. */
  readonly expires?: Date | null;
  /** Default: the id of the key. */
  readonly namespace?: string | undefined;
  readonly now?: Date;
}

export function makeKey(name: string, roles: readonly Role[], options: KeyOptions = {}): NewKey {
  const { expires = null, now = new Date() } = options;
  const id = randomBytes(KEY_ID_BYTES).toString("hex");
  const secret = `hg_${id}_${randomBytes(SECRET_BYTES).toString("base64url")}`;
  const record: ApiKeyRecord = {
    key_id: id,
    name,
    roles,
    namespace: options.namespace ?? id,
    hash: hashOf(secret).toString("hex"),
    created_at: now.toISOString(),
    expires_at: expires?.toISOString() ?? null,
    revoked_at: null,
  };
  return { record, secret };
}

/** The key id in a secret; arbitrary text if the format is unknown. */
export function keyIdIn(secret: string): string {
  return secret.slice(3, secret.indexOf("_", 3));
}

/** The stored form of a secret. Secrets are random, so a slow hash is not needed. */
export function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
