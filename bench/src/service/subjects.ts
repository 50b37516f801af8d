import { FLOOR } from "../suite.ts";

/** The baseline for the service: a server of the same kind that decides nothing. */
export const REST_ECHO = `${FLOOR}JSON echo of bare fastify`;
export const RESP_CONSTANT = `${FLOOR}constants of a bare RESP server`;
export const RESP_LUA = "Redis with GCRA in Lua";
export const GRPC_ECHO = `${FLOOR}echo of bare grpc-js`;
