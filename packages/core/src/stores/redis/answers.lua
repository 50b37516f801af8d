-- The reply of a call: packed doubles. The time, and for each request a status (0 decided, 1 void, 2 conflict, 3
-- failed, 4 repeated, 5 outside of the windows that came with a limit, 6 allowed, 7 denied). A repeated request is
-- followed by the time of its decision. Decided and repeated requests are followed by allowed, remaining, retry_after
-- and reset_after of each operation, and in_use if it is about slots. Shorter, for a take of one cost: an allowed request
-- is followed by remaining and reset_after, a denied one by these and retry_after. If any request failed, the reply is a
-- list of this and the error messages.
local function answers(out, filled, problems)
  local packed
  -- In slices, because Lua limits the number of arguments of a function.
  for from = 1, filled, 2048 do
    local to = math.min(from + 2047, filled)
    local slice = struct.pack("<" .. string.rep("d", to - from + 1), unpack(out, from, to))
    packed = packed and packed .. slice or slice
  end
  if not problems then return packed end
  return { packed, unpack(problems, 1, math.min(#problems, 1000)) }
end
