-- Takes `cost` from the row that read-row.lua has read, and writes it.
local allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(cells, now, cost)
local is_changed = allowed and cost > 0
if is_changed then
  charge(cells, time, level, carry)
end
--- @include "write-row"
