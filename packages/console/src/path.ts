import { BASE } from './options.js'

/** Tells whether a path belongs to the console. This entry does not load the console's pages. */
export const isConsolePath = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`)
