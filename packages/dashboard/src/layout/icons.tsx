const PATHS = {
  overview: "M4 19V10M10 19V5M16 19v-7M22 19H2",
  rules: "M4 6h16M4 12h16M4 18h10",
  why: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16.500 16.500 21 21",
  replay: "M4 12a8 8 0 1 1 2.500 5.800M4 20v-4.500h4.500M12 8v4l3 2",
  playground: "M4 7h8M16 7h4M14 4.500v5M4 17h4M12 17h8M10 14.500v5",
  reservations: "M6 3h12M6 21h12M7 3c0 5 10 6 10 9s-10 4-10 9M17 3c0 5-10 6-10 9s10 4 10 9",
  history: "M12 7v5l3 2M12 21a9 9 0 1 0-9-9M3 6v6h6",
  api: "M8 7l-5 5 5 5M16 7l5 5-5 5M14 4l-4 16",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg
      viewBox="0 0 24 24"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
