import { countText } from "../../ui/format.ts";

/** Such as `500 units`, or `1 slot`. */
export function amountText(cost: number, isSlots: boolean): string {
  const unit = isSlots ? "slot" : "unit";
  return `${countText(cost)} ${cost === 1 ? unit : `${unit}s`}`;
}
