import type { WarningCode } from "../errors.ts";
import { warn } from "../warning.ts";

/** Warnings of the middleware, each with what follows from it and what to do. */
export const noticeCodes = {
  HG_PROXY_NOT_TRUSTED:
    "its sender is not a trusted proxy and counts as the client. If it is a proxy, all of its clients share one quota. " +
    "Set proxies to the number of proxies or to their addresses, or to 0 if there is none. See docs/guide/proxies.md#warnings",
  HG_ALL_PROXIES_TRUSTED:
    "clients can choose their own address, and with it their quota. Set the number of proxies or their addresses. " +
    "See docs/guide/proxies.md#warnings",
  HG_NO_CLIENT_ADDRESS:
    "all such requests share one quota. Behind a proxy on a Unix socket, set proxies: 1; otherwise set by. " +
    "See docs/guide/clients.md#requests-without-an-address",
  HG_NO_USER:
    'by: "user" counts such requests by client address. Authenticate before the rate limit; if requests ' +
    "without a user are expected, use a function instead. See docs/guide/clients.md#users",
  HG_STORE_IGNORED:
    'the store failed, and requests pass unlimited. Wrap the store in resilient, or set onStoreFailure: "deny". ' +
    "See docs/frameworks/options.md#when-the-store-fails",
  HG_JOURNAL_FAILED:
    "if a process dies, quota that it has reserved may be returned only when its window ends. " +
    "See docs/guide/reservations.md#if-the-process-dies",
  HG_REFUND_LOST: "the charge stays until its window ends. See docs/guide/reservations.md#refunds",
} as const satisfies Partial<Record<WarningCode, string>>;

export type NoticeCode = keyof typeof noticeCodes;

/** A warning of the middleware. */
export interface Notice {
  readonly code: NoticeCode;
  readonly message: string;
  readonly cause?: unknown;
}

/** Reports each notice once. */
export class Notices {
  private readonly given = new Set<NoticeCode>();
  private readonly report: (notice: Notice) => void;

  constructor(report: (notice: Notice) => void) {
    this.report = report;
  }

  give(code: NoticeCode, occasion: string, cause?: unknown): void {
    if (this.given.has(code)) return;
    this.given.add(code);
    this.report({ code, message: `${occasion}: ${noticeCodes[code]}`, cause });
  }
}

/** Process-wide notices, used unless `onNotice` is set. */
export const processNotices = new Notices(({ code, message, cause }) => warn(code, message, cause));
