/** Fits into the name of a counter. */
export const NAMESPACE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const ROLES = ["check", "read", "write"] as const;
export type Role = (typeof ROLES)[number];

/** A key as stored. The secret itself is shown once and never stored. */
export interface ApiKeyRecord {
  readonly key_id: string;
  readonly name: string;
  readonly roles: readonly Role[];
  /**
   * Counters of limits that are sent with a call instead of coming from a rule, and reservations, belong to this
   * namespace. Keys with the same namespace share them. By default, the id of the key.
   */
  readonly namespace: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly created_at: string;
  /** null: never. */
  readonly expires_at: string | null;
  /** null: in force. */
  readonly revoked_at: string | null;
}
