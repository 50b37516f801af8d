-- The Lua version of token-bucket.ts.
return use("meter")(function(units) return units end)
