export type { Console, ConsoleOptions } from './console.js'
export type { PortalLook } from './options.js'
export { createConsole } from './console.js'
export { isConsolePath } from './path.js'
