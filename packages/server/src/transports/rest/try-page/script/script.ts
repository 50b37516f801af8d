import { ANSWER } from "./answer.ts";
import { FORM } from "./form.ts";
import { PAGE } from "./page.ts";
import { REQUEST } from "./request.ts";

/** What the browser runs, whole: each part is plain JavaScript that a browser reads as it is. */
export const SCRIPT = `"use strict";\n${[REQUEST, ANSWER, FORM, PAGE].join("\n")}`;
