import { after } from "headgate/http";
import type { CheckService } from "../../checks/check.ts";
import { answerOf } from "../shared/check-fields.ts";
import type { RespCommand } from "./resp-command.ts";
import { badArgument, SYNTAX_ERROR } from "./resp-errors.ts";
import { reply } from "./resp-reply.ts";
import { wholeNumber } from "./whole-number.ts";

/** `HG.CHECK rule key [COST n]`: a check under a rule of the service, with everything that REST returns. */
export function checkCommands(service: Pick<CheckService, "checkRule">): readonly RespCommand[] {
  return [
    {
      name: "HG.CHECK",
      arity: -3,
      isCheck: true,
      run(session, args) {
        const ruleId = args.utf8(1);
        const identifier = args.utf8(2);
        if (ruleId === undefined) return badArgument("rule", "must be UTF-8");
        if (identifier === undefined) return badArgument("key", "must be UTF-8");
        if (args.count !== 3 && (args.count !== 5 || args.argument(3).toUpperCase() !== "COST")) return SYNTAX_ERROR;
        const cost = args.count === 3 ? 1 : wholeNumber(args.argument(4));
        if (cost === undefined) return badArgument("COST", "must be a whole number from 0 to 2^53 - 1");
        return after(service.checkRule({ ruleId, identifier, cost }), (result) =>
          reply(answerOf(result, true), session.protocol),
        );
      },
    },
  ];
}
