import type { TrafficRequest } from "../replay/traffic-request.ts";

/** The request of the present line. One object serves all lines of a log. */
export type LineRequest = { -readonly [Field in keyof TrafficRequest]: TrafficRequest[Field] };

/** Which fields of a log to use. Those that are not stated follow from the format. */
export interface FieldMapping {
  readonly key?: string | undefined;
  readonly time?: string | undefined;
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  /** Units that a request costs. Default: 1 for each. */
  readonly cost?: string | undefined;
}

/** A line without a request, such as a header, is not a problem. */
export const SKIPPED = "";

/** Undefined if the request was read, SKIPPED, or what is wrong with the line. */
export type LineResult = string | undefined;

/** Reads the lines of one log, in order. */
export interface LineParser {
  /** Reads the line between two positions of a text. */
  read(text: string, start: number, end: number, into: LineRequest): LineResult;
}

export interface LogFormat {
  readonly name: string;
  /** Throws a `HeadgateError` if the format has no field of that name. */
  open(mapping: FieldMapping): LineParser;
}
