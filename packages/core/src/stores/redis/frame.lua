-- One call decides a batch of requests, each on its own and each all or nothing. Only this file,
-- rows.lua and requests.lua touch keys.
--
-- KEYS   the keys of the requests, in order: of each, the row of each operation, then the record of its idempotency
--        key if it has one. A batch for a node of a cluster declares none, for they are of many slots; they stand at
--        the end of ARGV.
-- ARGV   after how many arguments those begin; the time in microseconds or "", which means Redis's own; the
--        time from which on nothing of this counts any more, or 0;
--        how many limits there are, and of each: algorithm, 1 if it is coarse, else 0, window, and what else its
--        twin reads;
--        how many runs there are (requests of the same shape that follow each other), and of each: action, how
--        many requests, the time from which on they are void or 0, how many operations, of each the number of its
--        limit and its cost, a fingerprint or "", and for how many microseconds that is remembered.
--
-- Answers doubles, packed: the time, and for each request a status and, if that is 0, for each of its operations
-- allowed, remaining, retry_after and reset_after. If any request failed: a list of that and their messages.
local KEYS, ARGV, tonumber = KEYS, ARGV, tonumber
local DECIDED, VOID, FAILED = 0, 1, 3

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end
local end_of_all = tonumber(ARGV[3])

local limits, at = {}, 4
for i = 1, tonumber(ARGV[4]) do
  local twin = use(ARGV[at + 1])
  if ARGV[at + 2] == "1" and twin.coarse then twin = twin.coarse() end
  local limit, fields = twin.limit(ARGV, at + 2)
  limit.twin = twin
  limits[i] = limit
  at = at + 2 + fields
end

-- What is filled in as requests are decided. The zeros make room for the answer to one.
local batch = { now = now, limits = limits, out = { now, 0, 0, 0, 0, 0 }, filled = 1, problems = {} }
local declared, next_key = #KEYS, 1
local undeclared = ARGV[1] - declared

at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  local action, requests, void_from = ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local count = tonumber(ARGV[at + 4])
  local limit, cost = limits[tonumber(ARGV[at + 5])], tonumber(ARGV[at + 6])
  local fingerprint = ARGV[at + 5 + 2 * count]
  local is_void = (void_from > 0 and now >= void_from) or (end_of_all > 0 and now >= end_of_all)
  if action == "take" and count == 1 and limit.twin.row and fingerprint == "" and not is_void then
    -- By far the most requests are of this kind: one limit, and a row of a few numbers. They go the short way:
    -- rows are read all at once where that can be, and no table or function is spent on each. requests.lua and
    -- rows.lua come to the same.
    local call, pack, unpack_from = redis.call, struct.pack, struct.unpack
    local twin, margin = limit.twin, use("keep").MARGIN
    local evaluate, charge, format, bytes = twin.evaluate, twin.charge, twin.format, twin.bytes
    local out, filled, cells = batch.out, batch.filled, { 0, 0, 0, 0 }
    local last_key, values, written = next_key + requests - 1, nil, nil
    if requests > 1 and last_key <= declared then
      values, written = call("MGET", unpack(KEYS, next_key, last_key)), {}
    end
    for i = 1, requests do
      local name = next_key <= declared and KEYS[next_key] or ARGV[undeclared + next_key]
      next_key = next_key + 1
      local stored, kept
      if values then stored = written[name] or values[i] else stored = redis.pcall("GET", name) end
      if not stored then
        kept = -math.huge
        twin.blank(cells)
      elseif #stored == bytes then
        kept, cells[1], cells[2], cells[3] = unpack_from(format, stored)
      end
      local problem = not kept and stored
      local allowed, remaining, retry_after, reset_after, time, level, carry
      if kept then
        allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(limit, cells, now, cost)
        local is_charged = allowed and cost > 0
        if is_charged then charge(limit, cells, time, level, carry) end
        if kept < now + reset_after + margin and (is_charged or stored) then
          -- Also without a charge: the limit may have a longer window than the one that the row was written under.
          local longer, ttl = use("keep").longer(limit, now, reset_after)
          local value = pack(format, longer, cells[1], cells[2], cells[3])
          if stored then
            call("PSETEX", name, ttl, value)
          elseif not call("SET", name, value, "PX", ttl, "NX") then
            problem = ""
          end
          if values then written[name] = value end
        elseif is_charged then
          local value = pack(format, kept, cells[1], cells[2], cells[3])
          call("SETRANGE", name, "0", value)
          if values then written[name] = value end
        elseif values and not stored and call("EXISTS", name) == 1 then
          -- MGET takes a key of another type for none.
          problem = ""
        end
      end
      if problem then
        filled = filled + 1
        out[filled] = FAILED
        batch.problems[#batch.problems + 1] = use("rows").problem(name, problem)
      else
        out[filled + 1] = DECIDED
        out[filled + 2] = allowed and 1 or 0
        out[filled + 3] = remaining
        out[filled + 4] = retry_after
        out[filled + 5] = reset_after
        filled = filled + 5
      end
    end
    batch.filled = filled
  else
    local decide = use("requests")(batch)
    local operations, keys = {}, {}
    for i = 1, 2 * count do operations[i] = tonumber(ARGV[at + 4 + i]) end
    for _ = 1, requests do
      for i = 1, fingerprint == "" and count or count + 1 do
        keys[i] = next_key <= declared and KEYS[next_key] or ARGV[undeclared + next_key]
        next_key = next_key + 1
      end
      if is_void then
        batch.filled = batch.filled + 1
        batch.out[batch.filled] = VOID
      else
        decide(action, keys, operations, fingerprint, tonumber(ARGV[at + 6 + 2 * count]))
      end
    end
  end
  at = at + 6 + 2 * count
end

-- In slices: Lua can hand only so many values to a function.
local packed
for from = 1, batch.filled, 256 do
  local to = math.min(from + 255, batch.filled)
  local slice = struct.pack("<" .. string.rep("d", to - from + 1), unpack(batch.out, from, to))
  packed = packed and packed .. slice or slice
end
if #batch.problems == 0 then return packed end
return { packed, unpack(batch.problems, 1, math.min(#batch.problems, 1000)) }
