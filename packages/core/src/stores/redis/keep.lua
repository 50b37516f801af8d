-- Until when to keep a row whose time to live is too short for it, and that time to live in milliseconds. It is set
-- anew only then: to write cells over others costs less.
--
-- What is told is a second less than the truth: whoever finds that it suffices until the row is blank has that margin.
local MARGIN = 1000000
-- Microseconds that a row is kept longer at most, so that this need not be done for each charge; and at most in all.
local SLACK = 60000000
local LONGEST = 3000000000000000

return function(limit, now, reset_after)
  local kept = math.min(now + reset_after + math.min(limit.window, SLACK), now + LONGEST)
  return kept, math.ceil((kept + MARGIN - now) / 1000)
end
