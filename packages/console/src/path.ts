/** Every address of the console starts with this path. */
export const BASE = '/console'

/** Tells whether a path belongs to the console. This entry does not load the console's pages. */
export const isConsolePath = (path: string) => path === BASE || path.startsWith(`${BASE}/`)
