-- One heartbeat of one replica of a split limit. Records what the replica enforces, and returns what it may enforce.
--
-- A place is a rank among replicas: "rank" counts from 0, "of" is the number of replicas that share the limit, and
-- "0 0" means no place. Rank r of n gets the units r, r + n, r + 2n, … of every limit. The shares never add up to more
-- than the limit as long as
--   (1) no two replicas have the same rank, and
--   (2) no replica assumes fewer replicas than have a place.
-- A replica may enforce the place it had when it sent its latest heartbeat or, once the reply has arrived, the place in
-- the reply. Both count until its next heartbeat.
--
-- KEYS[1]  the record of the group, rl:{split:<group>}: a hash of
--            "group"         since when the record is complete, time of the last heartbeat, lease, run id of the server
--            "replica:<id>"  time and number of its last heartbeat, the place it had, the place it was granted
-- ARGV[1]  id of this replica
-- ARGV[2]  number of this heartbeat, greater than the one before
-- ARGV[3]  lease in milliseconds, the same for the whole group
-- ARGV[4]  rank that this replica enforces
-- ARGV[5]  number of replicas it assumes; 0 if it enforces nothing
-- ARGV[6]  time in milliseconds, for tests; default: the server's clock
--
-- Returns the rank, the number of replicas to assume (0: enforce nothing), the number of replicas, and the lease of the
-- group. If that lease differs from ARGV[3], the heartbeat was rejected.
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

-- A heartbeat that was overtaken or sent twice changes nothing.
if before and number <= before.number then
  return { before.granted.rank, before.granted.of, #others + 1, agreed }
end

local function record(replica)
  local held, granted = replica.held, replica.granted
  local numbers = { replica.at, replica.number, held.rank, held.of, granted.rank, granted.of }
  call("HSET", key, replica.field, format("%d %d %d %d %d %d", unpack(numbers)))
end

-- Identifies the run of the server; unknown if the user lacks the permission to ask.
local function this_run()
  local info = redis.pcall("INFO", "server")
  return type(info) == "string" and match(info, "run_id:(%x+)") or ""
end

-- After the server was frozen or its clock jumped, its record is still complete: no replica is missing because of that,
-- and the time in between does not count. A server that was restarted or has taken over has another run id.
local silent = now - last > lease / 2
local stood_still = silent and run ~= "" and run == this_run()
local pause = stood_still and now - last or 0
since = since + pause

-- A replica counts its lease from before the heartbeat was sent. The extra tenth allows for clock drift.
local patience = agreed + agreed / 10
local live = {}
for _, other in ipairs(others) do
  if other.at > now or stood_still then
    -- After the clock was set back, the lease starts again instead of lasting until the clock catches up.
    other.at = math.min(now, other.at + pause)
    record(other)
  end
  if now - other.at <= patience then live[#live + 1] = other else call("HDEL", key, other.field) end
end

if agreed ~= lease and #live > 0 then return { 0, 0, #live, agreed } end

-- After a silence, the record may be an old copy from which replicas with a place are missing, as from an empty record.
-- Within one lease, they have sent a heartbeat or hold nothing any more.
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

-- A replica with a place keeps it; changing or getting one requires a complete record. Assuming all replicas is safe by
-- (2) for those that have a place; a replica without one waits until all others assume one more. A lapsed place stays
-- reserved as long as the record has it. A place claimed by a replica that a complete record does not have comes from a
-- late heartbeat: the replica was dropped and enforces nothing any more.
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
-- Longer than a server may be frozen, because the replicas rely on the record when it resumes.
call("PEXPIRE", key, math.max(3 * lease, 600000))
return { granted.rank, granted.of, replicas, lease }
