import { useId, useState } from "preact/hooks";
import { countText } from "../../ui/format.ts";

/** Where files are dropped, or chosen. */
export function DropZone({
  files,
  onChange,
}: {
  readonly files: readonly File[];
  readonly onChange: (files: readonly File[]) => void;
}) {
  const [isOver, setOver] = useState(false);
  const id = useId();
  return (
    <label
      for={id}
      class={isOver ? "drop is-over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onChange([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <input
        id={id}
        class="visually-hidden"
        type="file"
        multiple
        onChange={(event) => onChange([...(event.currentTarget.files ?? [])])}
      />
      {files.length === 0 ? (
        <>
          <strong>Drop log files here</strong>
          <span class="muted">or choose them</span>
        </>
      ) : (
        <>
          <strong>{files.map(({ name }) => name).join(", ")}</strong>
          <span class="muted">{sizeText(files)}</span>
        </>
      )}
    </label>
  );
}

function sizeText(files: readonly File[]): string {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return bytes < 1_000_000
    ? `${countText(Math.ceil(bytes / 1000))} kB`
    : `${countText(Math.round(bytes / 1_000_000))} MB`;
}
