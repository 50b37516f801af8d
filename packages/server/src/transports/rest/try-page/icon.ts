/** A gate that is half open, over water. */
export const DRAWING = `<rect width="32" height="32" rx="7" fill="#0b5cad"/>
<path d="M8 6v20M24 6v20" stroke="#fff" stroke-width="3" stroke-linecap="round"/>
<path d="M12 8h8v7h-8z" fill="#9cd0ff"/>
<path d="M12 21q2-2 4 0t4 0" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"/>`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${DRAWING}</svg>
`;
