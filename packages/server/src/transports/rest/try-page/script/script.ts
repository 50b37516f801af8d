import { ANSWER } from "./answer.ts";
import { FORM } from "./form.ts";
import { PAGE } from "./page.ts";
import { REQUEST } from "./request.ts";

/** The whole script of the page. Each part is plain JavaScript that needs no build step. */
export const SCRIPT = `"use strict";\n${[REQUEST, ANSWER, FORM, PAGE].join("\n")}`;
