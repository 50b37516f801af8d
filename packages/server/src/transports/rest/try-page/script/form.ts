export const FORM = String.raw`let controls = 0;

/** A control with its label and an optional note. */
function field(label, control, note) {
  controls += 1;
  control.id = "field-" + controls;
  const parts = [make("label", { htmlFor: control.id }, ...label), control];
  if (note) {
    const text = make("p", { id: control.id + "-note", className: "note" }, note);
    control.setAttribute("aria-describedby", text.id);
    parts.push(text);
  }
  return make("div", {}, ...parts);
}

function controlOf({ name, required, schema = {}, example }) {
  const { default: usual, type, minimum, maximum } = schema;
  const given = usual ?? example ?? "";
  if (schema.enum) {
    const choices = usual === undefined && !required ? ["", ...schema.enum] : schema.enum;
    const control = make("select", { name }, ...choices.map((choice) => make("option", {}, choice)));
    control.value = given;
    return control;
  }
  const control = make("input", { name, required: required === true, value: String(given), spellcheck: false });
  if (type === "integer") Object.assign(control, { type: "number", min: minimum, max: maximum });
  return control;
}

function parameterField({ name, in: place, required, description, control }) {
  return field([name + " ", make("small", {}, required ? place + ", required" : place)], control, description);
}

/** The type of a field, in a few words. */
function kindOf(schema) {
  if (schema.enum) return schema.enum.join(" | ");
  const variants = schema.anyOf || schema.oneOf;
  if (variants) return variants.map(kindOf).join(" | ");
  if (schema.type === "array") return "list of " + kindOf(schema.items || {});
  return schema.format || schema.type || "anything";
}

/** Describes the fields of a body. */
function fieldsOf(schema) {
  const { properties = {}, required = [] } = schema;
  const told = Object.entries(properties).flatMap(([name, of]) => {
    const kind = kindOf(of) + (required.includes(name) ? ", required" : "");
    return [make("dt", {}, name + " ", make("small", {}, kind)), make("dd", {}, of.description || "")];
  });
  return more("Fields", make("dl", {}, ...told));
}

function bodyControl(example) {
  const value = JSON.stringify(example, null, 2);
  const control = make("textarea", { name: "body", rows: value.split("\n").length + 1, spellcheck: false, value });
  control.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    control.form.requestSubmit();
  });
  return control;
}

/** The form of a route. */
function formOf(method, path, operation) {
  const form = make("form", { className: "fields", autocomplete: "off" });
  const parameters = (operation.parameters || []).map((parameter) => ({ ...parameter, control: controlOf(parameter) }));
  const isAside = ({ control, required, in: place }) => place === "header" && !required && control.value === "";
  const aside = parameters.filter(isAside).map(parameterField);
  form.append(...parameters.filter((parameter) => !isAside(parameter)).map(parameterField));
  const taken = operation.requestBody && operation.requestBody.content["application/json"];
  const body = taken && bodyControl(taken.example);
  if (body) form.append(field(["Body ", make("small", {}, "JSON")], body), fieldsOf(taken.schema));
  if (aside.length > 0) form.append(more("Optional headers", make("div", { className: "fields" }, ...aside)));
  const hint = body ? [make("span", { className: "note" }, "or Ctrl+Enter in the body")] : [];
  form.append(make("div", { className: "buttons" }, make("button", { type: "submit" }, "Send"), ...hint));

  const box = make("div", { className: "try" }, form);
  const answer = answerPanel();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    // One at a time, so that the response shown belongs to the last request.
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const request = requestOf(method, path, parameters, body);
    try {
      const answered = await send(request);
      answer.show(answered, curlOf(request, operation.security?.length > 0));
    } catch (error) {
      answer.fail(error);
    }
    box.append(answer.panel);
    form.ariaBusy = "false";
  });
  return box;
}
`;
