-- One beat of one replica of a split limit: what it enforces is recorded, and it is told what it may enforce.
--
-- A place is a rank among so many: "rank" from 0 on, "of" how many share the limit, and no place is "0 0". Of any
-- limit, rank r of n gets the units r, r + n, r + 2n, … So the shares never sum to more than the limit as long as
--   (1) no two replicas have the same rank, and
--   (2) nobody counts on fewer replicas than have a place.
-- A replica may enforce what it held when it sent its latest beat, or what that was answered, if the answer has
-- arrived. Both count until the next beat tells.
--
-- KEYS[1]  the record of the group, rl:{split:<group>}: a hash of
--            "group"         since when the record is whole, when the last beat came, the lease, the run of the server
--            "replica:<id>"  when its beat came, the beat's number, the place held, the place granted
-- ARGV[1]  the id of this replica
-- ARGV[2]  the number of this beat; each is greater than the one before
-- ARGV[3]  the lease in milliseconds, the same for the whole group
-- ARGV[4]  the rank that this replica enforces, and
-- ARGV[5]  of how many; 0 if it enforces nothing
-- ARGV[6]  the time in milliseconds; Redis's own where it is not given (tests give it)
--
-- Answers the rank, of how many (0: enforce nothing), how many replicas there are, and the lease of the group: if
-- that is another than this replica's, the beat was refused.
local call, format, match = redis.call, string.format, string.match

local key, me = KEYS[1], "replica:" .. ARGV[1]
local number, lease = tonumber(ARGV[2]), tonumber(ARGV[3])
local held = { rank = tonumber(ARGV[4]), of = tonumber(ARGV[5]) }
local now = tonumber(ARGV[6])
if not now then
  local time = call("TIME")
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local since, last, agreed, run = now, now, lease, nil
local others, before = {}, nil
local stored = call("HGETALL", key)
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  if field == "group" then
    local first, second, third, fourth = match(value, "^(%d+) (%d+) (%d+) ?(%x*)$")
    since, last, agreed, run = tonumber(first), tonumber(second), tonumber(third), fourth
  else
    local at, beat, held_rank, held_of, rank, of = match(value, "^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$")
    local replica = {
      field = field,
      at = tonumber(at),
      number = tonumber(beat),
      held = { rank = tonumber(held_rank), of = tonumber(held_of) },
      granted = { rank = tonumber(rank), of = tonumber(of) },
    }
    if field == me then before = replica else others[#others + 1] = replica end
  end
end

-- A beat that was overtaken, or that the client sent twice, changes nothing.
if before and number <= before.number then
  return { before.granted.rank, before.granted.of, #others + 1, agreed }
end

local function record(replica)
  local held, granted = replica.held, replica.granted
  local numbers = { replica.at, replica.number, held.rank, held.of, granted.rank, granted.of }
  call("HSET", key, replica.field, format("%d %d %d %d %d %d", unpack(numbers)))
end

-- Which run of a server this is; not known where this user may not ask.
local function this_run()
  local info = redis.pcall("INFO", "server")
  return type(info) == "string" and match(info, "run_id:(%x+)") or ""
end

-- A server that stood still, or whose clock leapt, has kept its record: nobody is missing from it because of that, and
-- the time in between does not count. A server that was started anew, or took over, has another run.
local silent = now - last > lease / 2
local stood_still = silent and run ~= "" and run == this_run()
local pause = stood_still and now - last or 0
since = since + pause

-- A replica counts its lease from before the beat was sent. The tenth more is for clocks that run apart.
local patience = agreed + agreed / 10
local live = {}
for _, other in ipairs(others) do
  if other.at > now or stood_still then
    -- When the clock was put back its lease begins anew, rather than last until the clock is there again.
    other.at = math.min(now, other.at + pause)
    record(other)
  end
  if now - other.at <= patience then live[#live + 1] = other else call("HDEL", key, other.field) end
end

if agreed ~= lease and #live > 0 then return { 0, 0, #live, agreed } end

-- A record that was silent may be an old copy. Some replicas that hold a place may be missing from it, as from an
-- empty record; within one lease they have told, or hold nothing any more.
if (silent and not stood_still) or now < last or agreed ~= lease then since, run = now, nil end
local whole = now - since > patience

local taken, holders, fewest = {}, 0, math.huge
for _, other in ipairs(live) do
  local holds = false
  for _, place in ipairs({ other.held, other.granted }) do
    if place.of > 0 then
      holds = true
      taken[place.rank] = true
      fewest = math.min(fewest, place.of)
    end
  end
  if holds then holders = holders + 1 end
end

local replicas = #live + 1
local function free_rank()
  for rank = 0, replicas - 1 do
    if not taken[rank] then return rank end
  end
end

-- Whoever holds a place keeps it; to change or to get one needs the whole record. To count on all replicas is safe
-- by (2) for those who have a place already; one who has none waits until all others count on one more. A place that
-- lapsed is still kept for its replica as long as the record has it; one that is told by a replica which the whole
-- record does not have is a beat that was late on its way: its replica was dropped, and enforces nothing any more.
if whole and not before then held = { rank = 0, of = 0 } end
local granted = held
local own = held
if held.of == 0 and before then own = before.granted end
if whole and (own.of > 0 or fewest > holders) then
  local rank = own.rank
  if rank >= replicas or taken[rank] then rank = free_rank() end
  if rank then granted = { rank = rank, of = replicas } end
end

record({ field = me, at = now, number = number, held = held, granted = granted })
call("HSET", key, "group", format("%d %d %d %s", since, now, lease, run or this_run()))
-- Longer than a server may stand still: the record is what its replicas go on by.
call("PEXPIRE", key, math.max(3 * lease, 600000))
return { granted.rank, granted.of, replicas, lease }
