-- The Lua version of leaky-bucket.ts.
return use("meter")(function(units) return units end)
