import type { RuleInput } from "headgate-server";
import type { FilesReplay, KeyTimeline } from "headgate-simulator";
import type { Dimension } from "../../api/types.ts";

/** What the page asks of the worker. Files are passed by reference: they are read there and sent nowhere. */
export type ReplayRequest =
  | {
      readonly kind: "replay";
      readonly files: readonly File[];
      readonly dimension: Dimension;
      readonly keyField: string;
      readonly rules: readonly RuleInput[];
      readonly proposed: readonly RuleInput[] | undefined;
    }
  | {
      readonly kind: "timeline";
      readonly files: readonly File[];
      readonly dimension: Dimension;
      readonly keyField: string;
      readonly rules: readonly RuleInput[];
      readonly key: string;
    };

export type ReplayMessage =
  | { readonly kind: "progress"; readonly share: number }
  | { readonly kind: "replayed"; readonly result: FilesReplay }
  | { readonly kind: "timeline"; readonly timeline: KeyTimeline }
  | { readonly kind: "failed"; readonly message: string };
