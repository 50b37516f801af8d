-- How the leases of a key are stored: a sorted set whose scores are times in microseconds.
--   a reservation        when its lease ends; if it has released its slots, until when it cannot take any, negated
--   "*" .. reservation   if it holds more than one slot: -2^52 - slots
--   ""                   the latest time at which the row was changed
-- Times are below 2^52, so these kinds cannot be confused. Nothing is decided before leases that have ended are removed,
-- and the latest change is not in the future: all scores above the time of a decision are leases.
local LARGEST = 4503599627370496
local function number(value) return string.format("%.17g", value) end

-- Number of members to read or remove at a time.
local SLICE = 500

local leases = {}
leases.__index = leases

-- Writes with a command, and remembers how to undo it.
local function change(undo, ...)
  call(...)
  take_back(unpack(undo))
end

-- Reads the row of a key into a reused table; or returns the problem. `id` is "" if there is no reservation.
function leases.read(name, row, id, for_us)
  local scores = redis.pcall("ZMSCORE", name, "", id)
  if scores.err then return problem_with(name, scores) end
  local cells = setmetatable({ name = name, id = id, for_us = for_us }, leases)
  cells.latest = scores[1] and tonumber(scores[1]) or -math.huge
  cells.own = id ~= "" and scores[2] and tonumber(scores[2]) or false
  row.stored, row.cells = cells.latest > -math.huge, cells
end

-- The leases of a key that has none.
function leases.none(name)
  return setmetatable({ name = name, id = "", for_us = 0, latest = -math.huge, own = false }, leases)
end

-- From now on, the row is read as any other reservation sees it.
function leases:forget_holder()
  self.id, self.own = "", false
end

-- Slots of reservations that hold more than one. Like other numbers, it is read once: nothing but this request changes
-- the row meanwhile.
function leases:several()
  if not self.slots_of then
    local members = call("ZRANGEBYSCORE", self.name, "-inf", "(" .. number(-LARGEST), "WITHSCORES")
    self.slots_of = {}
    for i = 1, #members, 2 do self.slots_of[sub(members[i], 2)] = -tonumber(members[i + 1]) - LARGEST end
  end
  return self.slots_of
end

function leases:held(time)
  if not self.own or self.own <= time then return 0 end
  return self:several()[self.id] or 1
end

function leases:ends(time)
  return self.own and self.own > time and self.own or -math.huge
end

function leases:released_until()
  return self.own and self.own < 0 and -self.own or -math.huge
end

function leases:in_use(time)
  if not self.total then
    self.total = call("ZCOUNT", self.name, "(" .. number(time), "+inf")
    if self.total > 0 then
      for _, slots in pairs(self:several()) do self.total = self.total + slots - 1 end
    end
  end
  return self.total
end

function leases:last_end()
  self.last = self.last or tonumber(call("ZREVRANGE", self.name, 0, 0, "WITHSCORES")[2])
  return self.last
end

function leases:when_free(slots, time)
  local several, from, free, count = self:several(), 0, 0, SLICE
  if not next(several) and self:held(time) == 0 then
    -- Each lease is one slot of another reservation.
    from, free, count = slots - 1, slots - 1, 1
  end
  while true do
    local found = call("ZRANGEBYSCORE", self.name, "(" .. number(time), "+inf", "WITHSCORES", "LIMIT", number(from), count)
    if #found == 0 then return math.huge end
    for i = 1, #found, 2 do
      if found[i] ~= self.id then free = free + (several[found[i]] or 1) end
      if free >= slots then return tonumber(found[i + 1]) end
    end
    from = from + count
  end
end

-- Not undone if the request fails: these leases have ended, and the clock of a key does not run backwards.
function leases:expire(time)
  if self.expired_at == time then return end
  self.expired_at = time
  local ended = call("ZRANGEBYSCORE", self.name, 0, number(time))
  if #ended < 2 then return end
  for from = 1, #ended, SLICE do
    local members = {}
    for i = from, math.min(from + SLICE - 1, #ended) do
      if ended[i] ~= "" then
        members[#members + 1] = ended[i]
        members[#members + 1] = "*" .. ended[i]
      end
    end
    if #members > 0 then call("ZREM", self.name, unpack(members)) end
  end
  call("ZADD", self.name, number(time), "")
  self.latest = time
  if self.own and self.own > 0 and self.own <= time then self.own = false end
end

-- Writes the score of the reservation. The row is kept until a time, and longer if another lease needs it.
function leases:write(score, kept, time)
  local name, id = self.name, self.id
  local ttl = ttl_of(math.min(kept + MARGIN - now, LONGEST))
  local is_new = self.latest == -math.huge
  -- First, because it changes nothing if it is the only command that is rejected.
  if not is_new then call("PEXPIRE", name, ttl, "GT") end
  local undo = { "ZREM", name, id }
  if self.own then undo = { "ZADD", name, number(self.own), id } end
  if is_new then undo = { "ZREM", name, id, "" } end
  change(undo, "ZADD", name, number(score), id, number(time), "")
  if is_new then call("PEXPIRE", name, ttl) end
  self.own, self.latest = score, time
end

-- Writes how many slots the reservation has instead of those that it held.
function leases:write_slots(slots, held)
  local member = "*" .. self.id
  local undo = held > 1 and { "ZADD", self.name, number(-LARGEST - held), member } or { "ZREM", self.name, member }
  if slots > 1 and slots ~= held then
    change(undo, "ZADD", self.name, number(-LARGEST - slots), member)
  elseif slots <= 1 and held > 1 then
    change(undo, "ZREM", self.name, member)
  end
  if self.slots_of then self.slots_of[self.id] = slots > 1 and slots or nil end
  if self.total then self.total = self.total + slots - held end
end

function leases:hold(slots, ends, time)
  local held = self:held(time)
  self:write(ends, ends, time)
  self:write_slots(slots, held)
  if self.last then self.last = math.max(self.last, ends) end
end

function leases:release(till, time)
  local held = self:held(time)
  self:write(-till, till, time)
  self:write_slots(0, held)
  self.last = nil
  -- Tombstones that have expired.
  call("ZREMRANGEBYSCORE", self.name, number(-time), "(0")
end

function leases.remove(row)
  local name = row.cells.name
  local former, ttl = rows.undo and call("ZRANGE", name, 0, -1, "WITHSCORES"), rows.undo and call("PTTL", name)
  call("DEL", name)
  if not rows.undo then return end
  take_back("PEXPIRE", name, ttl)
  for from = 1, #former, SLICE do
    local members = {}
    for i = from, math.min(from + SLICE - 1, #former), 2 do
      members[#members + 1] = former[i + 1]
      members[#members + 1] = former[i]
    end
    take_back("ZADD", name, unpack(members))
  end
end
