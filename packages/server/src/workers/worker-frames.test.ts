import fc from "fast-check";
import { expect, it } from "vitest";
import { eachFrame, type Frame, FrameWriter } from "./worker-frames.ts";

const frames = fc.array(
  fc.record({
    numbers: fc.array(fc.double(), { maxLength: 20 }),
    texts: fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }),
    others: fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.array(fc.integer())), { maxLength: 3 }),
  }),
  { maxLength: 5 },
);

it("reads frames as they were written, wherever the stream of bytes is cut", () => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat({ max: 40 })), (written, cuts) => {
      const writer = new FrameWriter<unknown>();
      const bytes = Buffer.concat(
        written.map(({ numbers, texts, others }) => {
          for (const number of numbers) writer.number(number);
          for (const text of texts) writer.text(text);
          for (const other of others) writer.other(other);
          return writer.take();
        }),
      );
      const read: Frame<unknown>[] = [];
      const receive = eachFrame((frame) => read.push(frame));
      let at = 0;
      for (const cut of cuts) {
        receive(bytes.subarray(at, at + cut));
        at = Math.min(bytes.length, at + cut);
      }
      receive(bytes.subarray(at));
      expect(read.map(({ numbers, text, others }) => ({ numbers: [...numbers], text, others }))).toEqual(
        written.map(({ numbers, texts, others }) => ({ numbers, text: texts.join(""), others })),
      );
    }),
  );
});

it("keeps halves of surrogate pairs and many numbers", () => {
  const writer = new FrameWriter<never>();
  const numbers = Array.from({ length: 5_000 }, (_, i) => i / 3);
  for (const number of numbers) writer.number(number);
  writer.text("\ud800");
  let frame: Frame<never> | undefined;
  eachFrame<never>((read) => {
    frame = read;
  })(writer.take());
  expect([...(frame?.numbers ?? [])]).toEqual(numbers);
  expect(frame?.text).toBe("\ud800");
});
