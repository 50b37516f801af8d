-- The Lua version of gcra.ts.
return use("meter")(math.floor)
