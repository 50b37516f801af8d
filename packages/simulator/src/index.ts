export { type KeyTimeline, keyTimeline, type TimelineEntry } from "./browser/key-timeline.ts";
export { type NamedBlob, openFile } from "./browser/open-file.ts";
export {
  type FileSummary,
  type FilesOptions,
  type FilesReplay,
  readFiles,
  replayFiles,
} from "./browser/replay-files.ts";
export { type AlgorithmRun, compareAlgorithms, limitOfEach, type TimedCost } from "./compare/compare-algorithms.ts";
export { type Drawing, drawnTraffic } from "./compare/drawn-traffic.ts";
export { addressKey } from "./logs/address-key.ts";
export type { FieldMapping, LogFormat } from "./logs/log-format.ts";
export { detectFormat, formatNamed, logFormats } from "./logs/log-formats.ts";
export { type BadLine, type LogOptions, LogReader } from "./logs/log-reader.ts";
export { mergeLogs } from "./logs/merge-logs.ts";
export {
  type RecordedDenials,
  type RecordedLevel,
  type RecordedRequest,
  RecordedTraffic,
} from "./recorded/recorded-traffic.ts";
export { Replay, type ReplayOptions, replay } from "./replay/replay.ts";
export type {
  ClientReport,
  FirstDenial,
  KeyReport,
  ReplayChanges,
  ReplayReport,
  RuleReport,
  RuleSetReport,
} from "./replay/replay-report.ts";
export type { OnReplayed } from "./replay/rule-set-replay.ts";
export type { SeriesReport } from "./replay/time-series.ts";
export type { AppliedRule, RequestRules, RulesFor, TrafficRequest } from "./replay/traffic-request.ts";
export type { MinuteCounts } from "./replay/worst-minute.ts";
export { countText, durationText, shareText, timeText } from "./report/figures.ts";
export { type ReportPage, reportHtml } from "./report/report-html.ts";
export { reportJson } from "./report/report-json.ts";
export { type ReportNames, reportText } from "./report/report-text.ts";
export { SpooledRequests } from "./suggest/spooled-requests.ts";
export { type SuggestedLimit, type Suggestions, type SuggestOptions, suggestLimits } from "./suggest/suggest-limits.ts";
export { type ModelRequest, modelRequests } from "./traffic/model-requests.ts";
export { type SimulationOptions, simulateTraffic } from "./traffic/simulate-traffic.ts";
export {
  type Arrivals,
  type Retries,
  type TrafficModel,
  type TrafficSource,
  trafficSource,
} from "./traffic/traffic-model.ts";
