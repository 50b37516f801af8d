-- Until when a row must be kept, and its time to live in milliseconds if that has to be set: only when it has become
-- too short, for to write cells over others costs half as much.
local ceil, min = math.ceil, math.min

-- Microseconds: how long a row is kept at least after it has become blank, how much longer at most, and at most in all.
local MARGIN = 1000000
local SLACK = 60000000
local LONGEST = 3000000000000000

return function(limit, now, reset_after, kept)
  local needed = now + reset_after + MARGIN
  if kept >= needed then return kept end
  local longer = min(needed + min(limit.window, SLACK), now + LONGEST)
  return longer, ceil((longer - now) / 1000)
end
