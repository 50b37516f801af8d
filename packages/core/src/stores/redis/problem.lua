-- The error for a value that is not a row: an error of Redis, or something that other software has stored.
local function problem_with(name, value)
  if type(value) == "table" then return value.err end
  return "WRONGTYPE " .. string.sub(name, 1, 80) .. " holds what Headgate has not put there"
end
