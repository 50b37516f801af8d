-- The twin of gcra.ts.
return use("meter")(math.floor)
