-- The time of the call, read once: within a script it moves on.
local now = tonumber(ARGV[2])
local clock_is_given = now ~= nil
if not now then
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end
