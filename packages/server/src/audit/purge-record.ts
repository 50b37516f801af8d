import type { AuditEntry, AuditEvent } from "./audit.ts";
import type { Link } from "./chain.ts";

/** Subject of entries about the audit log itself. */
export const AUDIT_SUBJECT = "audit";
export const PURGE_ACTION = "audit.purge";

/**
 * Records in the chain that a purge removed all entries up to this one. Without this record, entries removed manually
 * would look as if they had been purged.
 */
export function purgeEvent(at: number, purgedTo: Link, olderThan: number | null): AuditEvent {
  const { seq, hash } = purgedTo;
  return {
    at: new Date(at).toISOString(),
    actor_id: "system",
    actor_name: "headgate",
    action: PURGE_ACTION,
    subject: AUDIT_SUBJECT,
    before: null,
    after: { purged_to: { seq, hash }, older_than: olderThan === null ? null : new Date(olderThan).toISOString() },
  };
}

/** The last entry that was removed, if this entry records a purge. */
export function purgedToIn({
  action,
  subject,
  after,
}: Pick<AuditEntry, "action" | "subject" | "after">): Link | undefined {
  if (action !== PURGE_ACTION || subject !== AUDIT_SUBJECT || !hasPurgedTo(after)) return undefined;
  const { seq, hash } = after.purged_to;
  return typeof seq === "number" && typeof hash === "string" ? { seq, hash } : undefined;
}

function hasPurgedTo(
  after: unknown,
): after is { readonly purged_to: { readonly seq?: unknown; readonly hash?: unknown } } {
  if (typeof after !== "object" || after === null || !("purged_to" in after)) return false;
  return typeof after.purged_to === "object" && after.purged_to !== null;
}
