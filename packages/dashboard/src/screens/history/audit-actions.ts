import type { Tone } from "../../ui/parts.tsx";

const TEXTS = {
  "rule.create": "Rule created",
  "rule.update": "Rule changed",
  "rule.delete": "Rule deleted",
  "rules.file": "Rules file read",
  "user.tier": "Tier set",
  "user.limits": "Custom limits set",
  "override.create": "Override added",
  "override.delete": "Override ended",
  "key.create": "API key created",
  "key.revoke": "API key revoked",
  "limit.reset": "Usage reset",
  "reservation.release": "Reservation released",
  "state.throttled": "Throttled",
  "audit.purge": "Log purged",
  "audit.lost": "Entries lost",
} as const;

export const ACTIONS = Object.keys(TEXTS);

/** What was done, in words; the action itself if a newer version wrote it. */
export function actionText(action: string): string {
  const texts: Readonly<Record<string, string>> = TEXTS;
  return texts[action] ?? action;
}

export function toneOf(action: string): Tone {
  if (/create$/.test(action)) return "good";
  if (/(delete|revoke|lost)$/.test(action)) return "bad";
  return /^(state|audit)/.test(action) ? "warning" : "info";
}
