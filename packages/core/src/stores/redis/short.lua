-- The frame for the most common batch: takes of one cost under one limit whose row is a few numbers.
--
-- KEYS   the row of each request
-- ARGV   algorithm; 1 if the limit is coarse, or 0; cost; the time from which on the call is void, or 0; the time in
--        microseconds, or "" for the server's clock; window, and the other fields that the algorithm's Lua version
-- reads
local VOID = 1

local twin = use(ARGV[1])
if ARGV[2] == "1" and twin.coarse then twin = use(twin.coarse)(twin) end
local limit = twin.limit(ARGV, 5)

local now, void_from = tonumber(ARGV[5]), tonumber(ARGV[4])
limit.twin, limit.clock_is_given = twin, now ~= nil
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end

local batch = { now = now, out = { now, 0, 0, 0, 0, 0 }, filled = 1, problems = {} }
if void_from > 0 and now >= void_from then
  for i = 1, #KEYS do batch.out[i + 1] = VOID end
  batch.filled = #KEYS + 1
else
  use("takes")(batch, limit, tonumber(ARGV[3]), KEYS, 1, #KEYS, true)
end
if batch.filled > 256 or #batch.problems > 0 then return use("answers")(batch) end
return struct.pack("<" .. string.rep("d", batch.filled), unpack(batch.out, 1, batch.filled))
