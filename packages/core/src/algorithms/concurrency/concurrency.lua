-- The Lua version of slots.ts. `cells` are the leases of a key as one operation sees them; leases.lua says what they can
-- do.
local huge, max = math.huge, math.max

-- Its rows are leases, not cells.
local LEASES = true

local limit

local function read_limit(packed, at)
  local after
  limit, after = struct.unpack("<d", packed, at)
  return after
end

local function evaluate(cells, now, cost)
  local time = max(now, cells.latest)
  cells:expire(time)
  local held = cells:held(time)
  local is_released = cells:released_until() > time
  local missing = cost > held and cost - held or 0
  local in_use = cells:in_use(time)
  local allowed = missing == 0 or (not is_released and in_use + missing <= limit)
  local after = allowed and in_use + missing or in_use
  local remaining = after < limit and limit - after or 0
  local retry_after, reset_after = 0, 0
  if not allowed then
    retry_after = huge
    if not is_released and cost <= limit then
      retry_after = cells:when_free(in_use + missing - limit, time) - now
    end
  end
  local last = in_use > 0 and cells:last_end() or -huge
  if allowed and missing > 0 then last = max(last, time + cells.for_us) end
  if after > 0 then reset_after = last - now end
  return allowed, remaining, retry_after, reset_after, time, after, held
end

-- Lets the reservation hold slots for its time from now on, or until its lease ends if that is later.
local function lease(cells, time, slots)
  cells:hold(slots, max(cells:ends(time), time + cells.for_us), time)
end

-- `slots`: those of the request. `held`: those that the reservation has already.
local function take_slots(cells, time, slots, held)
  if slots > held then lease(cells, time, slots) end
end

local function extend_slots(cells, now, cost)
  local time = max(now, cells.latest)
  cells:expire(time)
  local held = cells:held(time)
  local slots = held > 0 and held or cost
  local allowed, _, retry_after = evaluate(cells, now, slots)
  if allowed and cost > 0 then lease(cells, time, slots) end
  return allowed, retry_after
end

local function release_slots(cells, now)
  local time = max(now, cells.latest)
  cells:expire(time)
  cells:release(max(cells:ends(time), cells:released_until(), time + cells.for_us), time)
end
