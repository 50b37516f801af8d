-- The common requests about slots: a reservation takes one, or returns it. Each is decided with as few commands as
-- possible, because these are what it costs. leases.lua says how leases are stored, and requests.lua decides the same way.
--
-- A request is left to requests.lua, with the status -8 and before anything is written for it, if leases have ended, if a
-- reservation holds several slots, if the row was changed at a later time, if a slot is taken by a reservation that is
-- known already, or returned by one that holds none.
--
-- KEYS   the row of each request
-- ARGV   packed, numbers as doubles: the time from which on nothing of this counts any more, or 0; and of each request:
--        1 if a slot is returned and 0 if one is taken, the limit, the time from which on the request is void or 0, the
--        microseconds of the lease, and the reservation with a zero behind it
--        the time in microseconds; without it, or if it is empty, Redis's own counts
--- @include "time"
--- @include "keep"
--- @include "problem"
--- @include "answers"
local try, unpack_from = redis.pcall, struct.unpack

local DECIDED, VOID, FAILED, UNUSUAL = -1, -2, -4, -8
-- "*", which the member for several slots begins with.
local SEVERAL = 42
-- Tombstones that have expired are removed when a row is changed for the first time in such a period (microseconds).
local PERIOD = 1000000

local function number(value)
  return string.format("%.17g", value)
end

local packed = ARGV[1]
local end_of_all, at_byte = unpack_from("<d", packed)
local out, filled, problems = { now }, 1, nil
local time_text = number(now)
local above = "(" .. time_text
-- When a lease that begins now ends, as a text, and the time to live of its row: of the length of the last request.
local lease, ends, ends_text, ttl

for i = 1, #KEYS do
  local name = KEYS[i]
  local returns, limit, void_from, for_us, id
  returns, limit, void_from, for_us, id, at_byte = unpack_from("<dddds", packed, at_byte)
  local status, problem
  -- What is answered: slots in use, the time until the last lease ends, and of a denial the time until a slot is free.
  local in_use, reset_after, retry_after = 0, 0, 0
  if (void_from > 0 and now >= void_from) or (end_of_all > 0 and now >= end_of_all) then
    status = VOID
  else
    local scores = try("ZMSCORE", name, "", id)
    if scores.err then
      status, problem = FAILED, scores
    else
      if for_us ~= lease then
        lease, ends = for_us, now + for_us
        ends_text, ttl = number(ends), ttl_of(math.min(for_us + MARGIN, LONGEST))
      end
      local latest, own = scores[1] and tonumber(scores[1]), scores[2] and tonumber(scores[2])
      local is_plain = not own
      if returns == 1 then is_plain = latest and own and own > now end
      if is_plain and latest then
        is_plain = latest <= now and try("ZCOUNT", name, "0", time_text) == 1
        if is_plain then
          in_use = try("ZCOUNT", name, above, "+inf")
          is_plain = type(in_use) == "number" and (returns == 0 or in_use <= limit)
        end
        if is_plain and in_use > 0 then
          -- Of a reservation with several slots, one member has a score below all others. Without scores: Redis takes
          -- longer to write one than to find it.
          local lowest = try("ZRANGE", name, 0, 0)
          is_plain = not lowest.err and string.byte(lowest[1]) ~= SEVERAL
        end
      end
      if not is_plain then
        status = UNUSUAL
      elseif returns == 1 then
        local till, till_text, kept = ends, ends_text, ttl
        if own > ends then
          till, till_text, kept = own, number(own), ttl_of(math.min(own + MARGIN - now, LONGEST))
        end
        local done = try("PEXPIRE", name, kept, "GT")
        if type(done) == "number" then done = try("ZADD", name, "-" .. till_text, id, time_text, "") end
        if type(done) ~= "number" then
          status, problem = FAILED, done
        else
          if math.floor(latest / PERIOD) ~= math.floor(now / PERIOD) then
            try("ZREMRANGEBYSCORE", name, "-" .. time_text, "(0")
          end
          in_use = in_use - 1
          status = DECIDED
          if in_use > 0 then reset_after = tonumber(try("ZREVRANGE", name, 0, 0, "WITHSCORES")[2]) - now end
        end
      elseif in_use + 1 > limit then
        status, retry_after = DECIDED, 1 / 0
        if limit >= 1 then
          local found = try("ZRANGEBYSCORE", name, above, "+inf", "WITHSCORES", "LIMIT", number(in_use - limit), 1)
          if found[2] then retry_after = tonumber(found[2]) - now end
        end
        if in_use > 0 then reset_after = tonumber(try("ZREVRANGE", name, 0, 0, "WITHSCORES")[2]) - now end
      else
        local last = ends
        if in_use > 0 and try("ZCOUNT", name, "(" .. ends_text, "+inf") ~= 0 then
          last = tonumber(try("ZREVRANGE", name, 0, 0, "WITHSCORES")[2])
        end
        local done = 1
        -- First, because it changes nothing if it is the only command that is rejected.
        if latest then done = try("PEXPIRE", name, ttl, "GT") end
        if type(done) == "number" then done = try("ZADD", name, ends_text, id, time_text, "") end
        if type(done) == "number" and not latest then
          done = try("PEXPIRE", name, ttl)
          if type(done) ~= "number" then try("ZREM", name, id, "") end
        end
        if type(done) ~= "number" then
          status, problem = FAILED, done
        else
          status, in_use, reset_after = DECIDED, in_use + 1, last - now
        end
      end
    end
  end
  filled = filled + 1
  out[filled] = status
  if status == DECIDED then
    out[filled + 1] = retry_after == 0 and 1 or 0
    out[filled + 2] = in_use < limit and limit - in_use or 0
    out[filled + 3] = retry_after
    out[filled + 4] = reset_after
    out[filled + 5] = in_use
    filled = filled + 5
  elseif status == FAILED then
    problems = problems or {}
    problems[#problems + 1] = problem_with(name, problem)
  end
end

return answers(out, filled, problems)
