-- The journal of reservations.
--
-- KEYS   when each reservation expires, a sorted set; their texts, a hash
-- ARGV   the action; the time in microseconds, or "" for the server's clock; and
--        add: duration in milliseconds, an id, its text
--        extend: duration in milliseconds, and ids; returns those that still exist
--        remove: ids
--        overdue: maximum number; returns pairs of id and text
local ends, texts = KEYS[1], KEYS[2]
-- How long the journal outlives its last reservation, in milliseconds. What is not released by then never is.
local KEPT = 3600000

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end

local function hold(id, ms)
  redis.call("ZADD", ends, string.format("%.17g", now + ms * 1000), id)
end

local function keep(ms)
  for _, key in ipairs(KEYS) do redis.call("PEXPIRE", key, string.format("%.0f", ms + KEPT)) end
end

local act = {}

function act.add()
  local ms = tonumber(ARGV[3])
  hold(ARGV[4], ms)
  redis.call("HSET", texts, ARGV[4], ARGV[5])
  keep(ms)
  return {}
end

function act.extend()
  local ms, there = tonumber(ARGV[3]), {}
  for i = 4, #ARGV do
    if redis.call("ZSCORE", ends, ARGV[i]) then
      hold(ARGV[i], ms)
      there[#there + 1] = ARGV[i]
    end
  end
  keep(ms)
  return there
end

function act.remove()
  for i = 3, #ARGV do
    redis.call("ZREM", ends, ARGV[i])
    redis.call("HDEL", texts, ARGV[i])
  end
  return {}
end

function act.overdue()
  local found = {}
  local ids = redis.call("ZRANGEBYSCORE", ends, "-inf", string.format("%.17g", now), "LIMIT", 0, ARGV[3])
  for _, id in ipairs(ids) do
    found[#found + 1] = id
    found[#found + 1] = redis.call("HGET", texts, id) or ""
  end
  return found
end

return act[ARGV[1]]()
