-- One call decides a batch of requests, each on its own and each all or nothing. Only this file,
-- rows.lua and requests.lua touch keys.
--
-- KEYS      the keys of the requests, in order: of each, the row of each operation, then the record of its
--           idempotency key if it has one. In a cluster only the first is declared, and routes the call to the
--           node that has them all; the others stand at the beginning of ARGV.
-- ARGV[#]   the plan, in JSON:
--             now        the time in microseconds, if it is not to be Redis's own
--             void_from  from this time on, nothing of it counts any more
--             limits     the limits that the requests name, by their place here
--             runs       requests of the same shape that follow each other, each run as
--                        [action, how many, void_from or 0, [limit, cost, limit, cost, …]], and for a request with an
--                        idempotency key also its fingerprint and for how many microseconds it is remembered
--
-- Answers doubles, packed: the time, and for each request a status and, if that is 0, for each of its operations
-- allowed, remaining, retry_after and reset_after. If any request failed: a list of that and their messages.
local DECIDED, VOID, FAILED = 0, 1, 3

local plan = cjson.decode(ARGV[#ARGV])
local now = plan.now
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end
local limits = plan.limits
for i = 1, #limits do
  local limit = limits[i]
  local twin = use(limit.algorithm)
  limit.twin = limit.coarse and twin.coarse and twin.coarse() or twin
end

local batch = { now = now, limits = limits, out = { now }, filled = 1, problems = {}, next_key = 1 }
local declared = #KEYS
local runs = plan.runs
for r = 1, #runs do
  local run = runs[r]
  local action, requests, void_from, operations, fingerprint = run[1], run[2], run[3], run[4], run[5]
  local limit, cost, count = limits[operations[1]], operations[2], #operations / 2
  local is_void = (void_from > 0 and now >= void_from) or (plan.void_from and now >= plan.void_from)
  if action == "take" and count == 1 and limit.twin.size and not (fingerprint or is_void) then
    -- By far the most requests are of this kind: one limit, and a row of a few numbers. They go the short way,
    -- which spends no table and hardly a call on each; requests.lua comes to the same.
    local call, try, pack, unpack_from = redis.call, redis.pcall, struct.pack, struct.unpack
    local evaluate, charge, size = limit.twin.evaluate, limit.twin.charge, limit.twin.size
    local row_format = "<" .. string.rep("d", size)
    local format, bytes = row_format .. "d", 8 * size + 8
    local keep = use("keep")
    local out, filled, next_key, cells = batch.out, batch.filled, batch.next_key, {}
    for _ = 1, requests do
      local name = next_key <= declared and KEYS[next_key] or ARGV[next_key - declared]
      next_key = next_key + 1
      local value, kept = try("GET", name), 0
      if not value then
        cells = limit.twin.blank()
      elseif #value == bytes then
        kept, cells[1], cells[2], cells[3] = unpack_from(format, value)
      end
      if value and kept == 0 then
        filled = filled + 1
        out[filled] = FAILED
        batch.problems[#batch.problems + 1] = use("rows").problem(name, value)
      else
        local allowed, remaining, retry_after, reset_after, time, level, carry = evaluate(limit, cells, now, cost)
        if allowed and cost > 0 then
          charge(limit, cells, time, level, carry)
          local longer, ttl = keep(limit, now, reset_after, kept)
          if ttl then
            call("PSETEX", name, ttl, pack(format, longer, cells[1], cells[2], cells[3]))
          else
            call("SETRANGE", name, "8", pack(row_format, cells[1], cells[2], cells[3]))
          end
        end
        out[filled + 1] = DECIDED
        out[filled + 2] = allowed and 1 or 0
        out[filled + 3] = remaining
        out[filled + 4] = retry_after
        out[filled + 5] = reset_after
        filled = filled + 5
      end
    end
    batch.filled, batch.next_key = filled, next_key
  else
    local decide = use("requests")(batch)
    for _ = 1, requests do
      local keys = {}
      for i = 1, fingerprint and count + 1 or count do
        keys[i] = batch.next_key <= declared and KEYS[batch.next_key] or ARGV[batch.next_key - declared]
        batch.next_key = batch.next_key + 1
      end
      if is_void then
        batch.filled = batch.filled + 1
        batch.out[batch.filled] = VOID
      else
        decide(action, keys, operations, fingerprint, run[6])
      end
    end
  end
end

-- In slices: Lua can hand only so many values to a function.
local slices = {}
for from = 1, batch.filled, 256 do
  local to = math.min(from + 255, batch.filled)
  slices[#slices + 1] = struct.pack("<" .. string.rep("d", to - from + 1), unpack(batch.out, from, to))
end
if #batch.problems == 0 then return table.concat(slices) end
return { table.concat(slices), unpack(batch.problems, 1, math.min(#batch.problems, 1000)) }
