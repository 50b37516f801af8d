-- Reservations of one algorithm, each of one cost under one limit: some are settled and leave the journal, then others
-- are made and enter it. Like take.lua it is flat, and it reads and writes for all of them at once where it can, for
-- each command costs as much as the arithmetic of a request. requests.lua decides the same way.
--
-- If anything is out of the ordinary (a request is repeated, or something cannot be read), nothing is changed, and all
-- requests have the status -8: then requests.lua has to be asked.
--
-- KEYS   the row of each request; the record of each request, which says that its reservation has ended; the keys of
--        each part of the journal that is used, which journal.lua explains
-- ARGV   packed, numbers as doubles:
--          the time from which on nothing of this counts any more, or 0; how many are settled; how many are made; 1 if a
--          row occurs twice, otherwise 0; where the requests begin
--          the limits
--          of each that is made: where its limit begins, the time from which on it is void or 0, its cost, the number of
--          the first key of its part, its duration in milliseconds, its id, its text; id and text have their length
--          before them
--          of each that is settled: where its limit begins, the time from which on it is void or 0, what is charged in
--          addition, or refunded if it is negative, the number of the first key of its part, until when it may be
--          refunded, for how many microseconds it is remembered, its fingerprint, its id with its length before it
--        the time in microseconds; without it, or if it is empty, Redis's own counts
local try, pack, unpack_from = redis.pcall, struct.pack, struct.unpack
--- @include "algorithm"
--- @include "time"
--- @include "keep"
--- @include "problem"
--- @include "answers"

local DECIDED, VOID, FAILED, OUTSIDE, DENIED, UNUSUAL = -1, -2, -4, -6, -7, -8
-- As in journal.lua.
local KEPT_WITH_GIVEN_CLOCK, KEPT = 86400000, 7200000

local packed = ARGV[1]
local end_of_all, settled, made, repeats, at_byte = unpack_from("<ddddd", packed)
local count = settled + made
local is_over = end_of_all > 0 and now >= end_of_all
local cells
local limit_at
local out, filled, problems = { now }, 1, nil

local function unusual()
  for i = 1, count do out[i + 1] = UNUSUAL end
  return answers(out, count + 1)
end

local values
if not is_over then
  if try("EXISTS", unpack(KEYS, count + 1, 2 * count)) ~= 0 then return unusual() end
  if repeats == 0 then
    values = try("MGET", unpack(KEYS, 1, count))
    if values.err then return unusual() end
  end
end

-- Entries are written before the quota is taken, and those of requests that are not admitted are removed again.
local limits, voids, costs, parts, entry_ids = {}, {}, {}, {}, {}
local ids_of, ends_of, texts_of, refused_of = {}, {}, {}, {}
local deadline, deadline_ms
for i = 1, made do
  local part, ms, id, text
  limits[i], voids[i], costs[i], part, ms, id, text, at_byte = unpack_from("<ddddddc0dc0", packed, at_byte)
  parts[i], entry_ids[i] = part, id
  if ms ~= deadline_ms then deadline, deadline_ms = string.format("%.17g", now + ms * 1000), ms end
  local ids, ends, texts = ids_of[part], ends_of[part], texts_of[part]
  if not ids then
    ids, ends, texts = {}, {}, {}
    ids_of[part], ends_of[part], texts_of[part] = ids, ends, texts
  end
  local n = #ids
  ids[n + 1] = id
  ends[2 * n + 1], ends[2 * n + 2] = deadline, id
  texts[2 * n + 1], texts[2 * n + 2] = id, text
end
if not is_over then
  for part, ids in pairs(ids_of) do
    local scores = try("ZMSCORE", KEYS[part], unpack(ids))
    if scores.err then return unusual() end
    for i = 1, #ids do
      if scores[i] then return unusual() end
    end
  end
  for part, ids in pairs(ids_of) do
    local done = try("ZADD", KEYS[part], unpack(ends_of[part]))
    if type(done) ~= "table" then
      done = try("HSET", KEYS[part + 1], unpack(texts_of[part]))
      if type(done) == "table" then try("ZREM", KEYS[part], unpack(ids)) end
    end
    if type(done) == "table" then
      refused_of[part] = done
    else
      local ttl = clock_is_given and KEPT_WITH_GIVEN_CLOCK or KEPT
      try("PEXPIRE", KEYS[part], ttl)
      try("PEXPIRE", KEYS[part + 1], ttl)
    end
  end
end

local removed_of = {}
for i = 1, settled do
  local at, void_from, change, part, till, remembered, fingerprint, id
  at, void_from, change, part, till, remembered, fingerprint, id, at_byte =
    unpack_from("<ddddddc43dc0", packed, at_byte)
  if at ~= limit_at then
    limit_at = at
    read_limit(packed, at)
  end
  local status = (is_over or (void_from > 0 and now >= void_from)) and VOID
  --- @include "window-check"
  if status then
    filled = filled + 1
    out[filled] = status
  else
    local name, record = KEYS[i], KEYS[count + i]
    local stored, kept, problem
    if values then
      stored = values[i]
    else
      stored = try("GET", name)
    end
    --- @include "read-row"
    if kept then
      local is_changed = false
      if change > 0 then
        local cost = change
        local allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(cells, now, cost)
        charge(cells, time, level, carry)
        is_changed = true
      elseif change < 0 and stored and now < till then
        local cost = -change
        refund(cells, now, cost)
        is_changed = true
      end
      local passes, wait, cost = false, 0, 1
      do
        local allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(cells, now, cost)
        passes, wait = allowed and 1 or 0, retry_after
      end
      cost = 0
      local allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(cells, now, cost)
      local record_of = fingerprint
        .. pack("<dddddd", now + remembered, now, passes, remaining, wait, reset_after)
      local done = try("PSETEX", record, ttl_of(remembered), record_of)
      if done.err then
        problem = done
      else
        --- @include "write-row"
      end
      if problem then
        try("PSETEX", record, 1, record_of)
      else
        out[filled + 1] = DECIDED
        out[filled + 2] = passes
        out[filled + 3] = remaining
        out[filled + 4] = wait
        out[filled + 5] = reset_after
        filled = filled + 5
        local ids = removed_of[part]
        if not ids then
          ids = {}
          removed_of[part] = ids
        end
        ids[#ids + 1] = id
      end
    end
    if problem then
      filled = filled + 1
      out[filled] = FAILED
      problems = problems or {}
      problems[#problems + 1] = problem_with(name, problem)
    end
  end
end
-- An entry that could not be removed does no harm: a process that cleans up finds its record.
for part, ids in pairs(removed_of) do
  try("ZREM", KEYS[part], unpack(ids))
  try("HDEL", KEYS[part + 1], unpack(ids))
  if try("EXISTS", KEYS[part + 2]) ~= 0 then try("HDEL", KEYS[part + 2], unpack(ids)) end
end

for i = 1, made do
  local at, cost, part = limits[i], costs[i], parts[i]
  if at ~= limit_at then
    limit_at = at
    read_limit(packed, at)
  end
  local status = (is_over or (voids[i] > 0 and now >= voids[i])) and VOID
  --- @include "window-check"
  local name, problem, admitted = KEYS[settled + i], refused_of[part], false
  if status then
    filled = filled + 1
    out[filled] = status
  elseif not problem then
    local stored, kept
    if values then
      stored = values[settled + i]
    else
      stored = try("GET", name)
    end
    --- @include "read-row"
    if kept then
      --- @include "take-row"
      if not problem then
        if allowed then
          admitted = true
          out[filled + 1] = remaining
          filled = filled + 2
          out[filled] = reset_after
        else
          out[filled + 1] = DENIED
          out[filled + 2] = remaining
          out[filled + 3] = reset_after
          out[filled + 4] = retry_after
          filled = filled + 4
        end
      end
    end
  end
  if problem and not status then
    filled = filled + 1
    out[filled] = FAILED
    problems = problems or {}
    problems[#problems + 1] = problem_with(name, problem)
  end
  if not admitted and not is_over then
    try("ZREM", KEYS[part], entry_ids[i])
    try("HDEL", KEYS[part + 1], entry_ids[i])
  end
end

return answers(out, filled, problems)
