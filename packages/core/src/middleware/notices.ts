import { warn } from "../warning.ts";

/** Warnings of the middleware, each with what it means and what to do. */
export const noticeCodes = {
  HG_PROXY_NOT_TRUSTED:
    "its sender is not trusted as a proxy, and counts as the client: if it is one, all its clients share one quota. " +
    "Say how many proxies there are (proxies: 1) or which; say proxies: 0 if there is none. See docs/guide/proxies.md#warnings",
  HG_EVERYBODY_TRUSTED:
    "each client can choose its address, and with it its quota. Say how many proxies there are, or which. " +
    "See docs/guide/proxies.md#warnings",
  HG_NO_CLIENT_ADDRESS:
    "such requests share one quota. Behind a proxy on a Unix socket, say proxies: 1; else choose by whom to limit. " +
    "See docs/guide/clients.md#requests-without-an-address",
  HG_NO_USER:
    'by: "user" counts such requests by the address of the client. Authenticate before the rate limit; if requests ' +
    "without a user are expected, give a function instead. See docs/guide/clients.md#users",
  HG_STORE_IGNORED:
    'the store failed, and requests pass unlimited. Wrap the store in resilient, or say onStoreFailure: "deny". ' +
    "See docs/frameworks/options.md#when-the-store-fails",
  HG_HOLDS_FAILED:
    "what a process reserves and does not settle before it dies may flow back only with its window. " +
    "See docs/guide/reservations.md#if-the-process-dies",
  HG_REFUND_LOST:
    "what was to be given back stays charged until its window is over. See docs/guide/reservations.md#refunds",
} as const;

export type NoticeCode = keyof typeof noticeCodes;

/** A warning of the middleware. */
export interface Notice {
  readonly code: NoticeCode;
  readonly message: string;
  readonly cause?: unknown;
}

/** Gives each notice once, however often its occasion arises. */
export class Notices {
  private readonly given = new Set<NoticeCode>();
  private readonly tell: (notice: Notice) => void;

  constructor(tell: (notice: Notice) => void) {
    this.tell = tell;
  }

  give(code: NoticeCode, occasion: string, cause?: unknown): void {
    if (this.given.has(code)) return;
    this.given.add(code);
    this.tell({ code, message: `${occasion}: ${noticeCodes[code]}`, cause });
  }
}

/** The notices of the process, unless `onNotice` receives them. */
export const processNotices = new Notices(({ code, message, cause }) => warn(code, message, cause));
