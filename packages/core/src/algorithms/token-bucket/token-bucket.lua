-- The twin of token-bucket.ts.
return use("meter")(function(units) return units end)
