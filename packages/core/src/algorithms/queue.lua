-- The Lua version of queue.ts. A row is { capacity, latest, base, head, length } followed by a ring of pairs (mark,
-- total). It is read on demand and written where it changed: `cells` reads through to the stored row.
local floor, huge, max = math.floor, math.huge, math.max

local CAPACITY, LATEST, BASE, HEAD, LENGTH = 1, 2, 3, 4, 5
local RING = 5
local FIRST_CAPACITY = 2
local LARGEST_TOTAL = 9007199254740991

local window, limit, bucket_width

local function read_limit(packed, at)
  local after
  window, limit, bucket_width, after = struct.unpack("<ddd", packed, at)
  return after
end

local function pair_at(cells, i)
  return RING + 1 + 2 * ((cells[HEAD] + i) % cells[CAPACITY])
end

local function mark_at(cells, i)
  return cells[pair_at(cells, i)]
end

local function write_pair(cells, i, mark, total)
  local pair = pair_at(cells, i)
  cells[pair] = mark
  cells[pair + 1] = total
end

local function total_before(cells, i)
  if i == 0 then return cells[BASE] end
  return cells[pair_at(cells, i - 1) + 1]
end

local function most_marks()
  return math.min(limit, math.ceil(window / bucket_width) + 1)
end

local function mark_for(cells, time)
  local bucket = floor(time / bucket_width) * bucket_width
  local length = cells[LENGTH]
  return length == 0 and bucket or max(bucket, mark_at(cells, length - 1))
end

local function expired_at(cells, time)
  local edge = time - window
  local low, high = 0, cells[LENGTH]
  while low < high do
    local middle = floor((low + high) / 2)
    if mark_at(cells, middle) <= edge then low = middle + 1 else high = middle end
  end
  return low
end

local function first_reaching(cells, from, total)
  local low, high = from, cells[LENGTH] - 1
  while low < high do
    local middle = floor((low + high) / 2)
    if total_before(cells, middle + 1) < total then low = middle + 1 else high = middle end
  end
  return low
end

local function drop_expired(cells, expired)
  if expired == 0 then return end
  cells[BASE] = total_before(cells, expired)
  cells[HEAD] = (cells[HEAD] + expired) % cells[CAPACITY]
  cells[LENGTH] = cells[LENGTH] - expired
end

local function start_totals_over(cells)
  local base = cells[BASE]
  for i = 0, cells[LENGTH] - 1 do
    write_pair(cells, i, mark_at(cells, i), total_before(cells, i + 1) - base)
  end
  cells[BASE] = 0
end

-- How rows.lua stores such a row: cells before the ring, cells of a pair, and where the ring is described.
local GROWTH = { header = RING, width = 2, capacity = CAPACITY, head = HEAD }

local function blank(cells)
  cells[CAPACITY], cells[LATEST], cells[BASE], cells[HEAD], cells[LENGTH] = FIRST_CAPACITY, -huge, 0, 0, 0
  for i = 1, 2 * FIRST_CAPACITY do cells[RING + i] = 0 end
  return cells
end

local function evaluate(cells, now, cost)
  local latest = cells[LATEST]
  local time = now > latest and now or latest
  local length = cells[LENGTH]
  local expired = expired_at(cells, time)
  local gone = total_before(cells, expired)
  local before = total_before(cells, length) - gone
  local after = before + cost
  local allowed = after <= limit
  local used = allowed and after or before
  local remaining = used < limit and limit - used or 0
  local retry_after, reset_after = 0, 0
  if not allowed then
    retry_after = huge
    if cost <= limit then
      local leaving = first_reaching(cells, expired, gone + before - (limit - cost))
      retry_after = mark_at(cells, leaving) + window - now
    end
  end
  if allowed and cost > 0 then
    reset_after = mark_for(cells, time) + window - now
  elseif used > 0 then
    reset_after = mark_at(cells, length - 1) + window - now
  end
  return allowed, remaining, retry_after, reset_after, time, after, expired
end

local function charge(cells, time, level, expired)
  drop_expired(cells, expired)
  if cells[BASE] + level > LARGEST_TOTAL then start_totals_over(cells) end
  local mark = mark_for(cells, time)
  local length = cells[LENGTH]
  local last = length - 1
  local joins = length > 0 and (mark_at(cells, last) == mark or length == cells[CAPACITY])
  write_pair(cells, joins and last or length, mark, cells[BASE] + level)
  if not joins then cells[LENGTH] = length + 1 end
  cells[LATEST] = time
end

local function refund(cells, now, cost)
  local expired = expired_at(cells, max(now, cells[LATEST]))
  local length = cells[LENGTH]
  local left = max(total_before(cells, expired), total_before(cells, length) - cost)
  while length > 0 and total_before(cells, length - 1) >= left do length = length - 1 end
  cells[LENGTH] = length
  if length > 0 then write_pair(cells, length - 1, mark_at(cells, length - 1), left) end
end

-- Whether the ring must be doubled before this is charged.
local function outgrown(cells, allowed, expired)
  local capacity = cells[CAPACITY]
  if cells[LENGTH] - expired < capacity then return false end
  return allowed or capacity < most_marks()
end
