-- The journal of reservations, in one of 64 parts by the reservation's id.
--
-- KEYS   of each part that is used: when each reservation expires or, if a process has claimed it to end it, when that
--        claim expires, a sorted set; their texts, a hash; and when those that were claimed have expired, a hash. And of
--        each id that is looked up or whose text is kept: that text, when it has ended.
-- ARGV   commands, packed, numbers as doubles, names with a zero behind them, ids and texts with their length before
--        them; each with its name, the number of the part's first key, and
--        add: duration in milliseconds, id, text
--        restore: the same, and the number of the id's key
--        extend: duration in milliseconds, id, text or "" if it stays, the text that it replaces or "" for any, number of
--        the id's key
--        finish: id, text to keep or "", for how many milliseconds, number of the id's key
--        find: id, number of the id's key
--        claim: maximum number of all such commands together, for how many milliseconds
--        list: maximum number
--        read: id
--        the time in microseconds; without it, or if it is empty, Redis's own counts
-- Returns a value for each command:
--        extend: 1, or 2 if the text was another one and stays, or 0 if the reservation has ended or was claimed, or -1 if
--        it is unknown
--        find: {}, or {1 or 0 if it has ended, text, deadline}
--        claim: ids, texts and deadlines in turn
--        list: ids and when they, or claims on them, expire, in turn
--        read: {}, or {text, deadline}
--- @include "time"
local packed = ARGV[1]
local unpack_from = struct.unpack
-- How long a part outlives the last addition to it, in milliseconds: longer than any reservation, and than it may be
-- cleaned up. A clock that is given may stand still.
local KEPT = clock_is_given and 86400000 or 7200000
-- Lua has room for about 8000 arguments.
local MOST = 2000

local at_byte, replies = 1, {}
-- Additions and removals that follow each other are carried out together.
local adding, removing = {}, {}

local function flush()
  for part, some in pairs(adding) do
    redis.call("ZADD", KEYS[part], unpack(some.ends))
    redis.call("HSET", KEYS[part + 1], unpack(some.texts))
    redis.call("PEXPIRE", KEYS[part], KEPT)
    redis.call("PEXPIRE", KEYS[part + 1], KEPT)
  end
  for part, ids in pairs(removing) do
    redis.call("ZREM", KEYS[part], unpack(ids))
    redis.call("HDEL", KEYS[part + 1], unpack(ids))
    redis.call("HDEL", KEYS[part + 2], unpack(ids))
  end
  adding, removing = {}, {}
end

local function deadline_of(ms)
  return string.format("%.17g", now + ms * 1000)
end

local function add(part, ms, id, text)
  if next(removing) then flush() end
  local some = adding[part]
  if not some then
    some = { ends = {}, texts = {} }
    adding[part] = some
  end
  local n = #some.ends
  some.ends[n + 1], some.ends[n + 2] = deadline_of(ms), id
  some.texts[n + 1], some.texts[n + 2] = id, text
  if n > MOST then flush() end
  return 0
end

local act = {}

function act.add(part)
  local ms, id, text
  ms, id, text, at_byte = unpack_from("<ddc0dc0", packed, at_byte)
  return add(part, ms, id, text)
end

function act.restore(part)
  local ms, id, text, ended
  ms, id, text, ended, at_byte = unpack_from("<ddc0dc0d", packed, at_byte)
  flush()
  if redis.call("EXISTS", KEYS[ended]) == 1 or redis.call("ZSCORE", KEYS[part], id) then return 0 end
  return add(part, ms, id, text)
end

function act.extend(part)
  local ms, id, text, known, ended
  ms, id, text, known, ended, at_byte = unpack_from("<ddc0dc0dc0d", packed, at_byte)
  flush()
  local deadline = redis.call("ZSCORE", KEYS[part], id)
  if not deadline then return redis.call("EXISTS", KEYS[ended]) - 1 end
  if redis.call("HEXISTS", KEYS[part + 2], id) == 1 then return 0 end
  if now + ms * 1000 > tonumber(deadline) then redis.call("ZADD", KEYS[part], deadline_of(ms), id) end
  local is_changed = text ~= "" and known ~= "" and redis.call("HGET", KEYS[part + 1], id) ~= known
  if text ~= "" and not is_changed then redis.call("HSET", KEYS[part + 1], id, text) end
  redis.call("PEXPIRE", KEYS[part], KEPT)
  redis.call("PEXPIRE", KEYS[part + 1], KEPT)
  return is_changed and 2 or 1
end

function act.finish(part)
  local id, text, ms, ended
  id, text, ms, ended, at_byte = unpack_from("<dc0dc0dd", packed, at_byte)
  if next(adding) then flush() end
  local ids = removing[part] or {}
  removing[part] = ids
  ids[#ids + 1] = id
  if text ~= "" then redis.call("SET", KEYS[ended], text, "PX", math.ceil(ms)) end
  if #ids > MOST then flush() end
  return 0
end

function act.find(part)
  local id, ended
  id, ended, at_byte = unpack_from("<dc0d", packed, at_byte)
  flush()
  local text, deadline = redis.call("HGET", KEYS[part + 1], id), redis.call("ZSCORE", KEYS[part], id)
  if text and deadline then return { 1, text, redis.call("HGET", KEYS[part + 2], id) or deadline } end
  text = redis.call("GET", KEYS[ended])
  return text and { 0, text, "0" } or {}
end

local claimed = 0

function act.claim(part)
  local most, ms, found = 0, 0, {}
  most, ms, at_byte = unpack_from("<dd", packed, at_byte)
  if claimed >= most then return found end
  flush()
  local ends, texts, claims = KEYS[part], KEYS[part + 1], KEYS[part + 2]
  local ids = redis.call("ZRANGEBYSCORE", ends, "-inf", string.format("%.17g", now), "WITHSCORES", "LIMIT", 0, most - claimed)
  for i = 1, #ids, 2 do
    local id, n = ids[i], #found
    local deadline = redis.call("HGET", claims, id)
    if not deadline then
      deadline = ids[i + 1]
      redis.call("HSET", claims, id, deadline)
    end
    redis.call("ZADD", ends, deadline_of(ms), id)
    found[n + 1], found[n + 2], found[n + 3] = id, redis.call("HGET", texts, id) or "", deadline
  end
  if #ids > 0 then redis.call("PEXPIRE", claims, KEPT) end
  claimed = claimed + #ids / 2
  return found
end

function act.list(part)
  local most
  most, at_byte = unpack_from("<d", packed, at_byte)
  flush()
  return redis.call("ZRANGE", KEYS[part], 0, most - 1, "WITHSCORES")
end

function act.read(part)
  local id
  id, at_byte = unpack_from("<dc0", packed, at_byte)
  flush()
  local text, deadline = redis.call("HGET", KEYS[part + 1], id), redis.call("ZSCORE", KEYS[part], id)
  return text and deadline and { text, redis.call("HGET", KEYS[part + 2], id) or deadline } or {}
end

while at_byte <= #packed do
  local command, part
  command, part, at_byte = unpack_from("<sd", packed, at_byte)
  replies[#replies + 1] = act[command](part)
end
flush()
return replies
