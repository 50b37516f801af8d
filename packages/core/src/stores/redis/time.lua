-- The time of the call, read once: within a script it moves on.
local given = ARGV[2]
local clock_is_given = given ~= nil and given ~= ""
local now
if clock_is_given then
  now = tonumber(given)
else
  local time = redis.call("TIME")
  now = time[1] * 1000000 + time[2]
end
