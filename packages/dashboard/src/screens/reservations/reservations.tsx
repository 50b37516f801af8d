import { useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import type { ListedReservation, RateLimitRule } from "../../api/types.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { linkTo } from "../../router.ts";
import { countText, DIMENSION_NAMES, timeText, waitText } from "../../ui/format.ts";
import { Badge, Card, Empty, Note, ScreenHead, WithData } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";
import { ReleaseDialog } from "./release-dialog.tsx";
import { amountText } from "./reservation-text.ts";
import { type SlotUsage, slotUsages } from "./slot-usage.ts";

const EVERY_MS = 5_000;
/** The service lists no more. */
const MOST_LISTED = 1_000;
/** More would make the page slow; the search narrows them down. */
const MOST_SHOWN = 200;
/** Rules whose number of slots is looked up. */
const MOST_RULES = 20;

interface Listed {
  readonly reservations: readonly ListedReservation[];
  /** The slots of rules, by ID, as far as they are known. */
  readonly slots: ReadonlyMap<string, number>;
  readonly at: number;
}

async function load(signal: AbortSignal): Promise<Listed> {
  const { reservations } = await api.get<Pick<Listed, "reservations">>("/api/v1/reservations", signal);
  const rules = new Set(reservations.flatMap(({ reserved }) => reserved.filter(({ slots }) => slots)).map(ruleOf));
  const limits = await Promise.all(
    [...rules].slice(0, MOST_RULES).map(async (ruleId) => {
      const path = `/api/v1/rules/${encodeURIComponent(ruleId)}`;
      // A rule may have been deleted since.
      const rule = await api.get<RateLimitRule>(path, signal).catch(() => undefined);
      return rule === undefined ? [] : [[ruleId, rule.limit] as const];
    }),
  );
  return { reservations, slots: new Map(limits.flat()), at: Date.now() };
}

function ruleOf({ rule_id }: ListedReservation["reserved"][number]): string {
  return rule_id;
}

/** What is reserved, since when and by which key, and the slots that are in use. */
export function Reservations() {
  const loaded = useLoaded(load, [], EVERY_MS);
  const [releasing, setReleasing] = useState<ListedReservation>();
  return (
    <div class="screen">
      <ScreenHead title="Reservations">
        Quota and slots that tasks in progress have reserved, on all nodes. They are returned when a reservation is
        settled or released, or expires.
      </ScreenHead>
      <WithData of={loaded}>
        {({ reservations, slots, at }) =>
          reservations.length === 0 ? (
            <Card>
              <Empty title="Nothing is reserved">
                Clients reserve quota with <code>POST /api/v1/reservations</code> before they know what a request costs,
                and slots of rules that limit concurrent tasks.
              </Empty>
            </Card>
          ) : (
            <>
              <SlotsInUse usages={slotUsages(reservations, slots)} />
              <ReservationTable reservations={reservations} at={at} onRelease={setReleasing} />
            </>
          )
        }
      </WithData>
      {releasing !== undefined && (
        <ReleaseDialog
          reservation={releasing}
          onClose={() => setReleasing(undefined)}
          onReleased={() => {
            setReleasing(undefined);
            loaded.reload();
          }}
        />
      )}
    </div>
  );
}

function SlotsInUse({ usages }: { readonly usages: readonly SlotUsage[] }) {
  if (usages.length === 0) return null;
  return (
    <Card title="Slots in use" isFlush>
      <Scroll label="Slots in use">
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Rule</th>
              <th scope="col">In use</th>
            </tr>
          </thead>
          <tbody>
            {usages.slice(0, 10).map(({ rule_id, dimension, identifier, used, limit }) => (
              <tr key={`${rule_id} ${dimension} ${identifier}`}>
                <th scope="row" class="key">
                  {identifier} <span class="muted">{DIMENSION_NAMES[dimension]}</span>
                </th>
                <td>
                  <a href={linkTo(["rules", rule_id])}>{rule_id}</a>
                </td>
                <td>
                  {limit === undefined ? (
                    countText(used)
                  ) : (
                    <>
                      {countText(used)} of {countText(limit)}{" "}
                      {used >= limit && <Badge tone="warning">All in use</Badge>}
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {usages.length > 10 && <p class="muted more-rules">{countText(usages.length - 10)} more keys use slots.</p>}
    </Card>
  );
}

function ReservationTable({
  reservations,
  at,
  onRelease,
}: Pick<Listed, "reservations" | "at"> & { readonly onRelease: (reservation: ListedReservation) => void }) {
  const [search, setSearch] = useState("");
  const [mayCheck, mayWrite] = [useMay("check"), useMay("write")];
  const words = search.toLowerCase().split(/\s+/);
  const found = reservations.filter((each) => words.every((word) => searchText(each).includes(word)));
  return (
    <>
      <div class="field rule-search">
        <label for="reservation-search">Search</label>
        <input
          id="reservation-search"
          type="search"
          placeholder="Key, rule, ID…"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </div>
      {reservations.length >= MOST_LISTED && (
        <Note tone="warning">Only the {countText(MOST_LISTED)} reservations that end next are listed.</Note>
      )}
      <Card title={`${countText(found.length)} ${found.length === 1 ? "reservation" : "reservations"}`} isFlush>
        {found.length === 0 ? (
          <Empty title="No reservation matches">Search for parts of keys, rules, owners or IDs.</Empty>
        ) : (
          <Scroll label="Reservations">
            <table>
              <thead>
                <tr>
                  <th scope="col">Reserved by</th>
                  <th scope="col">What</th>
                  <th scope="col" class="only-wide">
                    Since
                  </th>
                  {mayCheck && mayWrite && (
                    <th scope="col">
                      <span class="visually-hidden">Release</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {found.slice(0, MOST_SHOWN).map((each) => (
                  <Row
                    key={each.reservation_id}
                    reservation={each}
                    at={at}
                    onRelease={mayCheck && mayWrite ? () => onRelease(each) : undefined}
                  />
                ))}
              </tbody>
            </table>
          </Scroll>
        )}
        {found.length > MOST_SHOWN && (
          <p class="muted more-rules">{countText(found.length - MOST_SHOWN)} more match. Search to narrow them down.</p>
        )}
      </Card>
    </>
  );
}

function Row({
  reservation: { reservation_id, owner, made_at_ms, expires_at_ms, reserved },
  at,
  onRelease,
}: {
  readonly reservation: ListedReservation;
  readonly at: number;
  readonly onRelease: (() => void) | undefined;
}) {
  // An earlier version may have made it.
  const isKnown = made_at_ms !== undefined && made_at_ms > 0;
  const madeAt = isKnown ? timeText(made_at_ms) : undefined;
  const since = isKnown ? `${waitText(Math.max(0, at - made_at_ms))} ago` : "unknown";
  const ends = expires_at_ms <= at ? "ends now" : `ends in ${waitText(expires_at_ms - at)}`;
  const keys = new Map(reserved.map((each) => [`${each.dimension}:${each.identifier}`, each]));
  return (
    <tr>
      <th scope="row" class="key">
        {[...keys].map(([key, { dimension, identifier }]) => (
          <div key={key}>
            {identifier} <span class="muted">{DIMENSION_NAMES[dimension]}</span>
          </div>
        ))}
        {owner && <div class="muted reservation-id only-wide">through {owner}</div>}
        <div class="muted reservation-id only-wide">{reservation_id}</div>
      </th>
      <td>
        {reserved.map(({ rule_id, cost, slots, dimension, identifier }) => (
          <div key={`${rule_id} ${dimension} ${identifier}`}>
            {amountText(cost, slots)} of <a href={linkTo(["rules", rule_id])}>{rule_id}</a>
          </div>
        ))}
        <div class="muted only-narrow">
          {since}, {ends}
        </div>
      </td>
      <td class="only-wide">
        <span title={madeAt}>{since}</span>
        <div class="muted" title={timeText(expires_at_ms)}>
          {ends}
        </div>
      </td>
      {onRelease && (
        <td class="is-number">
          <button type="button" class="button is-small" onClick={onRelease} aria-label={`Release ${reservation_id}`}>
            Release
          </button>
        </td>
      )}
    </tr>
  );
}

function searchText({ reservation_id, owner, reserved }: ListedReservation): string {
  const parts = reserved.flatMap(({ rule_id, identifier, dimension }) => [rule_id, identifier, dimension]);
  return [reservation_id, owner, ...parts].join(" ").toLowerCase();
}
