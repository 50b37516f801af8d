/** A limit of one user that replaces the rule's. */
export interface CustomLimit {
  readonly limit: number;
  readonly burst?: number | null;
}

/** A temporary limit of one user. */
export interface Override {
  readonly override_id: string;
  readonly user_id: string;
  /** null: all rules that apply to the user. */
  readonly rule_id: string | null;
  readonly limit: number;
  readonly burst: number | null;
  readonly reason: string;
  readonly expires_at: string;
  readonly created_at: string;
  readonly created_by: string;
}

/** Data to store for a user; absent fields stay unchanged. */
export interface UserInput {
  readonly user_id: string;
  readonly tier?: string | null;
  readonly custom_limits?: Readonly<Record<string, CustomLimit>>;
}

/** The stored data of a user that determines their limits. */
export interface UserData {
  readonly user_id: string;
  readonly tier: string | null;
  /** By rule_id. */
  readonly custom_limits: Readonly<Record<string, CustomLimit>>;
  /** Includes expired overrides until they are purged, so callers must check the time. */
  readonly overrides: readonly Override[];
  /** 0 if nothing was ever stored for the user. */
  readonly version: number;
}
