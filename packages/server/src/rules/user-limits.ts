/** A limit of one user in the place of a rule's. */
export interface CustomLimit {
  readonly limit: number;
  readonly burst?: number | null;
}

/** A limit of one user for a time. */
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

/** What is to be stored of a user; what is absent stays as it is. */
export interface UserInput {
  readonly user_id: string;
  readonly tier?: string | null;
  readonly custom_limits?: Readonly<Record<string, CustomLimit>>;
}

/** What is known of one user: it decides which limits he has. */
export interface Standing {
  readonly user_id: string;
  readonly tier: string | null;
  /** By rule_id. */
  readonly custom_limits: Readonly<Record<string, CustomLimit>>;
  /** Also those that have expired, until they are purged: who asks looks at the time. */
  readonly overrides: readonly Override[];
  /** 0 if nothing was ever stored of him. */
  readonly version: number;
}
