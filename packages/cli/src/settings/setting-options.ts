import { type Command, Option } from "commander";
import { allSettings, flagOf } from "headgate-server";

/** Adds flags for the named settings, or for all, and the flag for the settings file. */
export function addSettings(
  command: Command,
  requireValue: (option: string) => (value: string) => string,
  names: readonly string[] = allSettings.map(({ name }) => name),
): Command {
  command.option("--config <file>", "a YAML file of settings", requireValue("--config"));
  for (const setting of allSettings) {
    const { name, takes, about, values, defaultText } = setting;
    if (takes === undefined || !names.includes(name)) continue;
    const flag = flagOf(setting);
    if (takes === "") command.option(flag, about);
    else {
      const option = new Option(`${flag} ${takes}`, about).argParser(requireValue(flag));
      // For completion only. Invalid values are rejected when the setting is read, wherever it comes from.
      if (values !== undefined) option.argChoices = [...values];
      command.addOption(option);
      // For the help only: added with a default, the option would seem to be given, and hide the environment and the file.
      if (defaultText !== undefined) {
        option.defaultValue = defaultText;
        option.defaultValueDescription = defaultText;
      }
    }
  }
  return command;
}
