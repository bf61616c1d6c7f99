export type { Console, ConsoleOptions } from './console.js'
export { createConsole, isConsolePath } from './console.js'
