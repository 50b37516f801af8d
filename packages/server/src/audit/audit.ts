/** An event to record in the audit log. */
export interface AuditEvent {
  /** ISO 8601 in UTC. */
  readonly at: string;
  readonly actor_id: string;
  readonly actor_name: string;
  /** `rule.create`, `rule.update`, `rule.delete`, `user.tier`, `user.limits`, `override.create`, `override.delete`, `key.create`, `key.revoke`, `limit.reset`, `reservation.release`, `state.throttled`, `audit.purge`, `audit.lost`. */
  readonly action: string;
  /** What it was done to: `rule:<id>`, `user:<id>`, `ip:<address>`, `apikey:<id>`, `key:<id>`, `reservation:<id>`. */
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** An event in the chain: `hash` covers the event, its number and the hash before it. */
export interface AuditEntry extends AuditEvent {
  readonly seq: number;
  readonly previous_hash: string;
  readonly hash: string;
  /** The field of the stored entry that cannot be parsed, and why. That field then contains the stored text. */
  readonly unreadable?: string;
}

export interface AuditQuery {
  readonly subject?: string;
  readonly action?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** A break in the chain: the number of the entry, and what is wrong with it. */
export interface ChainBreak {
  readonly seq: number;
  readonly problem: string;
}
