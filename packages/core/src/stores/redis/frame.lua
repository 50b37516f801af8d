-- One call decides a batch of requests, each independently and all or nothing.
--
-- KEYS   the keys of the requests in order: for each, the rows of its operations, then the record of its idempotency
--        key if it has one. A batch for a cluster node declares none, because they belong to many slots; they are at
--        the end of ARGV.
-- ARGV   the number of arguments before those keys; the time in microseconds, or "" for the server's clock; the time
--        from which on the whole call is void, or 0;
--        the number of limits, and for each: algorithm, 1 if it is coarse or 0, window, and the other fields that its
--        Lua version reads;
--        the number of runs (consecutive requests of the same shape), and for each: action, number of requests, the
--        time from which on they are void or 0, number of operations, for each the number of its limit and its cost,
--        a fingerprint or "", and for how many microseconds that is remembered.
local KEYS, ARGV, tonumber = KEYS, ARGV, tonumber
local VOID = 1

local now = tonumber(ARGV[2])
local clock_is_given = now ~= nil
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end
local end_of_all = tonumber(ARGV[3])

local limits, at = {}, 4
for i = 1, tonumber(ARGV[4]) do
  local twin = use(ARGV[at + 1])
  if ARGV[at + 2] == "1" and twin.coarse then twin = use(twin.coarse)(twin) end
  local limit, fields = twin.limit(ARGV, at + 2)
  limit.twin, limit.clock_is_given = twin, clock_is_given
  limits[i] = limit
  at = at + 2 + fields
end

-- Filled in as requests are decided. The zeros make room for one answer.
local batch = {
  now = now, clock_is_given = clock_is_given, limits = limits,
  out = { now, 0, 0, 0, 0, 0 }, filled = 1, problems = {},
}
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
    if declared > 0 then
      use("takes")(batch, limit, cost, KEYS, next_key, requests, true)
    else
      use("takes")(batch, limit, cost, ARGV, undeclared + next_key, requests, false)
    end
    next_key = next_key + requests
  else
    batch.decide = batch.decide or use("requests")(batch)
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
        batch.decide(action, keys, operations, fingerprint, tonumber(ARGV[at + 6 + 2 * count]))
      end
    end
  end
  at = at + 6 + 2 * count
end

return use("answers")(batch)
