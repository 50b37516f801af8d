/** The anchor that GitHub gives a heading, so that links to it work there and on the site. */
export function githubSlug(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Mark}\p{Number}\p{Connector_Punctuation}\- ]/gu, "")
    .replaceAll(" ", "-");
}
