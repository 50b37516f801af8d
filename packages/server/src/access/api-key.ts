export const ROLES = ["check", "read", "write"] as const;
export type Role = (typeof ROLES)[number];

/** A key as stored. The secret itself is shown once and never stored. */
export interface ApiKeyRecord {
  readonly key_id: string;
  readonly name: string;
  readonly roles: readonly Role[];
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly created_at: string;
  /** null: never. */
  readonly expires_at: string | null;
  /** null: in force. */
  readonly revoked_at: string | null;
}
